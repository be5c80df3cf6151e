"""What the server is told: its configuration file, its memory and the flags of its virtual machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from graph.errors import LocalServerError
from service.local.paths import Home, write_private

DATABASE = "neo4j"
USER = "neo4j"
MAIN_CLASS = "org.neo4j.server.CommunityEntryPoint"
ADMIN_CLASS = "org.neo4j.cli.AdminTool"

_MEBIBYTES = {"m": 1, "g": 1024}
_HEAP_LEAST = 256

# The usual launcher adds these; it is skipped because it is one more virtual machine to start.
_OPENED_PACKAGES = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
_FLAGS = (
    "--enable-native-access=ALL-UNNAMED",
    "-XX:+UseG1GC",  # the machine would choose the serial collector on two cores
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:+IgnoreUnrecognizedVMOptions",  # one list for three Java versions
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:+TrustFinalNonStaticFields",
    "-XX:+DisableExplicitGC",
    "-Djdk.nio.maxCachedBufferSize=1024",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.leakDetection.level=DISABLED",
    "-Dlog4j2.disable.jmx=true",
    "-Dlog4j.layout.jsonTemplate.maxStringLength=32768",
    "-Dfile.encoding=UTF-8",
)


@dataclass(frozen=True, slots=True)
class Memory:
    """How much the server may take, in mebibytes."""

    heap: int
    page_cache: int

    @classmethod
    def parse(cls, heap: str, page_cache: str) -> Memory:
        """Read sizes like `512m` and `1g`.

        Raises:
            LocalServerError: a size is not of that form, or the heap is too small for the server.
        """
        memory = cls(_mebibytes("heap", heap), _mebibytes("page cache", page_cache))
        if memory.heap < _HEAP_LEAST:
            raise LocalServerError(f"The heap is {heap}; the server needs {_HEAP_LEAST}m at least.")
        return memory


def _mebibytes(what: str, size: str) -> int:
    found = re.fullmatch(r"([1-9]\d*)([mg])", size.lower())
    if not found:
        raise LocalServerError(f"The size of the {what} is {size!r}; write it like 512m or 1g.")
    return int(found[1]) * _MEBIBYTES[found[2]]


def server_settings(port: int, memory: Memory) -> dict[str, str]:
    """The settings of a private server: one port on loopback, a password, and nothing sent anywhere."""
    address = f"127.0.0.1:{port}"
    return {
        "server.default_listen_address": "127.0.0.1",
        "server.bolt.enabled": "true",
        "server.bolt.listen_address": address,
        "server.bolt.advertised_address": address,
        "server.http.enabled": "false",
        "server.https.enabled": "false",
        "dbms.security.auth_enabled": "true",
        "dbms.usage_report.enabled": "false",
        "internal.server.bolt.thread_pool_shutdown_wait_time": "0s",  # a stop would wait ten seconds for nothing
        "server.memory.pagecache.size": f"{memory.page_cache}m",
        # A runaway query then fails alone instead of taking the server with it.
        "dbms.memory.transaction.total.max": f"{memory.heap // 2}m",
        "db.memory.transaction.max": f"{memory.heap // 4}m",
        "db.transaction.timeout": "0s",
        "db.lock.acquisition.timeout": "0s",
        # Erased content stays in old logs until they are pruned, so logs are small and not kept.
        "db.tx_log.rotation.size": "16m",
        "db.tx_log.rotation.retention_policy": "false",
        "db.tx_log.preallocate": "false",
    }


def write_configuration(home: Home, settings: Mapping[str, str]) -> None:
    """Write neo4j.conf; the server refuses to start with a key that it does not know."""
    lines = ["# Written at every start; changes made here are lost."]
    lines += [f"{key}={value}" for key, value in settings.items()]
    write_private(home.configuration / "neo4j.conf", "\n".join(lines) + "\n")


def machine_flags(memory: Memory, *, quick_compiler: bool) -> list[str]:
    """Flags of the server's virtual machine.

    Args:
        memory: the heap is taken whole at the start, so that it never grows at a bad moment.
        quick_compiler: compile fast and less well: starts sooner on a busy machine, slower under load.
    """
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_PACKAGES]
    size = [f"-Xms{memory.heap}m", f"-Xmx{memory.heap}m"]
    return [*size, *_FLAGS, *opened, *(["-XX:TieredStopAtLevel=1"] if quick_compiler else [])]
