"""placeholder"""

from __future__ import annotations


def run_peers(application, caller):
    yield from ()
