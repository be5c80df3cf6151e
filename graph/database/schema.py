"""The schema of the graph: the steps of `cypher/schema/`, applied in order, each once.

A step is marked with its text's digest when it is done. Steps are only ever added: a marked step whose text is another
one now, or a mark that this code does not know, means that code and database belong to different versions.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from graph.clock import Clock
from graph.database.catalogue import default_query_folder
from graph.database.database import Database
from graph.errors import NotReady
from graph.vocabulary import ReasonCode


@dataclass(frozen=True)
class SchemaStep:
    """One statement of the schema."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the statement, hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def schema_steps(folder: Path | None = None) -> list[SchemaStep]:
    """The steps in order; comment lines do not count as text."""
    steps: list[SchemaStep] = []
    for path in sorted((folder or default_query_folder() / "schema").glob("*.cypher")):
        lines = path.read_text(encoding="utf-8").splitlines()
        steps.append(SchemaStep(path.stem, "\n".join(line for line in lines if not line.startswith("//")).strip()))
    return steps


def apply_schema(database: Database, clock: Clock, steps: list[SchemaStep] | None = None) -> list[str]:
    """Apply the steps that are not marked yet and answer their names; doing it again does nothing.

    Raises:
        NotReady: the database was made by another version of this code.
    """
    wanted = schema_steps() if steps is None else steps
    marked = _marked(database)
    _check_known(wanted, marked)
    applied: list[str] = []
    for step in wanted:
        if step.name not in marked:
            database.administer(step.text)
            database.write("merge_schema_version", step=step.name, digest=step.digest, at=clock.now())
            applied.append(step.name)
    database.administer("CALL db.awaitIndexes(300)")
    return applied


def missing_schema(database: Database, steps: list[SchemaStep] | None = None) -> list[str]:
    """The names of the steps that the database lacks; empty when it is current.

    Raises:
        NotReady: the database was made by another version of this code.
    """
    wanted = schema_steps() if steps is None else steps
    marked = _marked(database)
    _check_known(wanted, marked)
    return [step.name for step in wanted if step.name not in marked]


def _marked(database: Database) -> dict[str, str]:
    return {row.text("step"): row.text("digest") for row in database.read("list_schema_versions")}


def _check_known(wanted: list[SchemaStep], marked: dict[str, str]) -> None:
    digests = {step.name: step.digest for step in wanted}
    strange = sorted(name for name, digest in marked.items() if digests.get(name) != digest)
    if strange:
        raise NotReady(
            "the database was made by another version of this software",
            code=ReasonCode.SERVICE_NOT_READY,
            details={"steps": strange},
        )
