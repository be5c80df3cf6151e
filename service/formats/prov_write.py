"""Putting a PROV-JSON document together, container by container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from graph.clock import instant_to_text
from graph.lineage.exchange import Ended
from service.formats.prov_model import BUNDLE
from service.formats.prov_names import Labels

UUID_NAMESPACE: Final = "urn:uuid:"
OWN_NAMESPACE: Final = "urn:sequela:"
_OWN_PREFIXES: Final = {"uuid": UUID_NAMESPACE, "sequela": OWN_NAMESPACE}
_BLANK: Final = "_:sequela"


class Container:
    """A document or one of its bundles while it is written."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self._groups: dict[str, dict[str, list[JsonValue]]] = {}
        self._number = 0

    def add(self, group: str, label: str, body: Mapping[str, JsonValue]) -> None:
        """Add a statement; several may stand under one label."""
        self._groups.setdefault(group, {}).setdefault(label, []).append(dict(body))

    def add_unnamed(self, group: str, body: Mapping[str, JsonValue]) -> None:
        """Add a relation without a name of its own."""
        while True:
            self._number += 1
            label = f"{_BLANK}{self._number}"
            if label not in self._groups.get(group, {}):
                self.add(group, label, body)
                return

    def identity(self, identity: str) -> str:
        """The label of an opaque identity."""
        return self.labels.label(f"{UUID_NAMESPACE}{identity}")

    def own_type(self, word: str) -> JsonValue:
        """A `prov:type` out of this service's own words."""
        return {"$": self.labels.label(f"{OWN_NAMESPACE}{word}"), "type": "prov:QUALIFIED_NAME"}

    def add_ended(self, ended: Ended) -> None:
        """Say of what a deletion ended that it is invalidated: by its identity, the request and the time alone."""
        entity, request = self.identity(ended.identity), self.identity(ended.request_id)
        self._groups.setdefault("entity", {}).setdefault(entity, [{}])
        activity: dict[str, JsonValue] = {
            "prov:type": self.own_type("deletion"),
            "prov:startTime": instant_to_text(ended.received_at),
        }
        if ended.finished_at is not None:
            activity["prov:endTime"] = instant_to_text(ended.finished_at)
        self._groups.setdefault("activity", {}).setdefault(request, [activity])
        self.add_unnamed(
            "wasInvalidatedBy",
            {"prov:entity": entity, "prov:activity": request, "prov:time": instant_to_text(ended.at)},
        )

    def use_own_prefixes(self) -> None:
        """Declare this service's own prefixes, where they are free."""
        self.labels.declare(_OWN_PREFIXES)

    def written(self) -> dict[str, JsonValue]:
        """The container as JSON."""
        written: dict[str, JsonValue] = {"prefix": dict(self.labels.declared)} if self.labels.declared else {}
        for group, members in self._groups.items():
            written[group] = {label: bodies[0] if len(bodies) == 1 else bodies for label, bodies in members.items()}
        return written


def document_of(top: Container, bundles: Mapping[str, Container]) -> dict[str, JsonValue]:
    """A document with its bundles, each under a label of its own prefixes."""
    inner: dict[str, JsonValue] = {}
    for name, container in bundles.items():
        # Its label may need a prefix more, so it comes first.
        label = container.labels.label(name)
        inner[label] = container.written()
    written = top.written()
    return {**written, BUNDLE: inner} if inner else written
