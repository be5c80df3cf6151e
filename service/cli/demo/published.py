"""A document that others published, out of the package `prov`: lineage rarely starts at home."""

from __future__ import annotations

from importlib import resources
from typing import Final

from graph.access import Caller
from service.bootstrap import Application
from service.cli.importing import prov_envelope
from service.formats.prov_json import ProvImportReport, import_prov_document, read_prov_json

# A quotation: one entity derived from another, by an activity, with the usage and the generation named.
_DOCUMENT: Final = ("tests", "json", "derivation12.json")
_OBSERVED_AT: Final = "2026-01-01T00:00:00Z"


def import_published(application: Application, caller: Caller) -> tuple[str, ProvImportReport] | None:
    """Import the document; answers its file name and what became of it, or None where the package is not installed."""
    try:
        file = resources.files("prov").joinpath(*_DOCUMENT)
    except ModuleNotFoundError:
        return None
    document = read_prov_json(file.read_bytes())
    envelope = prov_envelope(application.policy, caller, _OBSERVED_AT)
    report = import_prov_document(document, application.registrar, caller, scope="published", defaults=envelope)
    return file.name, report
