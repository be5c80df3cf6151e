from pathlib import Path

import pytest
import yaml

from service.local.jars import read_lock


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text())


def test_every_published_port_is_on_loopback(compose):
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert len(ports) == 2
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_no_service_has_a_password_unless_one_is_set(compose):
    values = [
        value
        for service in compose["services"].values()
        for key, value in service["environment"].items()
        if key in {"NEO4J_AUTH", "SEQUELA_NEO4J_PASSWORD"}
    ]
    assert len(values) == len(compose["services"])
    assert all("${SEQUELA_NEO4J_PASSWORD:?" in value for value in values)


def test_the_container_runs_the_version_of_the_private_server(compose):
    versions = {jar.version for jar in read_lock() if jar.coordinate.startswith("org.neo4j.app:neo4j-server")}
    assert compose["services"]["neo4j"]["image"] == f"neo4j:{versions.pop()}-community"


def test_both_programs_wait_for_a_healthy_database(compose):
    for name in ("api", "worker"):
        assert compose["services"][name]["depends_on"] == {"neo4j": {"condition": "service_healthy"}}
    assert {"test", "interval", "timeout", "retries", "start_period"} <= compose["services"]["neo4j"][
        "healthcheck"
    ].keys()
