"""The command line on the real server, with a home folder of its own for each test."""

import json
from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from service.cli.main import app
from tests.support.records import PURPOSE, TENANT


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self):
        """Standard output as one JSON document; fails where anything else is in it."""
        return json.loads(self.out)

    @property
    def lines(self):
        """Standard output as JSON documents, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


class CommandLine:
    def __init__(self, environment):
        self.environment = environment

    def __call__(self, *arguments, given=None, **environment):
        result = CliRunner().invoke(
            app,
            [str(one) for one in arguments],
            input=given,
            env={**self.environment, **environment},
            prog_name="sequela",
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ended(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def offline(tmp_path):
    """The command line without any database: nothing listens where it looks for one."""
    return CommandLine(
        {
            "SEQUELA_HOME": str(tmp_path / "home"),
            "SEQUELA_NEO4J_URI": None,
            "SEQUELA_TENANT": TENANT,
            "SEQUELA_PURPOSE": PURPOSE,
            "SEQUELA_PRINCIPAL": None,
            "COLUMNS": "200",
            "SEQUELA_RETRY_TOTAL_SECONDS": "0",
        }
    )


@pytest.fixture
def sequela(offline, neo4j_server, database):
    """The command line on an empty graph."""
    return CommandLine(
        offline.environment
        | {
            "SEQUELA_NEO4J_URI": neo4j_server.uri,
            "SEQUELA_NEO4J_USER": neo4j_server.user,
            "SEQUELA_NEO4J_PASSWORD": neo4j_server.password,
            "SEQUELA_RETRY_TOTAL_SECONDS": "15",
            # Each command is a worker of its own; the next one does not wait long for its leases.
            "SEQUELA_LEASE_SECONDS": "0.5",
        }
    )
