"""The port of a home: chosen once, remembered, and free before each start."""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

from graph.errors import LocalServerError
from service.local.paths import Home, write_private

# Below the range from which systems take the ports of outgoing connections, so that none squats on a remembered port.
_FIRST = 20_000
_COUNT = 10_000
_LISTENING = "0A"


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT counts as free
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def port_of(home: Home) -> int:
    """The port that this home remembers, or a free one that it remembers from now on.

    The search starts at a place that depends on the home, so that two homes that start at the same moment
    do not run for the same port.

    Raises:
        LocalServerError: no port is free, or the remembered one cannot be read.
    """
    remembered = _remembered(home)
    try:
        return int(remembered.read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except ValueError as error:
        raise LocalServerError(f"{remembered} does not hold a port number; remove the file.") from error
    start = int.from_bytes(hashlib.sha256(str(home.root.resolve()).encode()).digest()[:4])
    for step in range(_COUNT):
        port = _FIRST + (start + step) % _COUNT
        if is_free(port):
            write_private(remembered, f"{port}\n")
            return port
    raise LocalServerError(f"No port between {_FIRST} and {_FIRST + _COUNT} is free.")


def require_free(home: Home, port: int) -> None:
    """Refuse a taken port: a server that listens there would be taken for the one about to start.

    Raises:
        LocalServerError: names the port and, where it can be known, the process.
    """
    if is_free(port):
        return
    pid = holder_of(port)
    holder = f"process {pid}" if pid else "another process"
    raise LocalServerError(
        f"Port {port} is taken by {holder}. End it, or remove {_remembered(home)} so that another port is chosen.",
        details={"port": port, "pid": pid},
    )


def _remembered(home: Home) -> Path:
    return home.configuration / "port"


def holder_of(port: int) -> int | None:
    """The process that listens on the port, where the system tells (Linux, own processes)."""
    inodes = _listening_inodes(port)
    links = {f"socket:[{inode}]" for inode in inodes}
    for process in Path("/proc").glob("[0-9]*") if links else ():
        try:
            if any(str(entry.readlink()) in links for entry in (process / "fd").iterdir()):
                return int(process.name)
        except OSError:  # it has ended, or is somebody else's
            continue
    return None


def _listening_inodes(port: int) -> set[str]:
    found: set[str] = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        try:
            rows = [line.split() for line in table.read_text(encoding="ascii").splitlines()[1:]]
        except OSError:
            continue
        found |= {row[9] for row in rows if row[3] == _LISTENING and int(row[1].rpartition(":")[2], 16) == port}
    return found
