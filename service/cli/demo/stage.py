"""The demo's own folder: a private server, a files store and an identity key that touch nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from service.bootstrap import Application
from service.cli.invocation import DEMO_FOLDER, Invocation
from service.runtime import running_application
from service.settings import Settings


def demo_settings(settings: Settings) -> Settings:
    """The settings of the demo: those of the user, with a folder of its own and always the private server."""
    home = settings.home.expanduser().absolute() / DEMO_FOLDER
    return settings.model_copy(update={"home": home, "neo4j_uri": None, "files_root": None})


@contextmanager
def staged(invocation: Invocation, settings: Settings, *, keep: bool) -> Generator[Application]:
    """The demo's application in a new folder; its server is stopped at the end, or left running.

    What an earlier run left is removed first: the scenario is one world, and its tombstones would keep it out.

    Args:
        invocation: who is told of the long steps.
        settings: of the demo.
        keep: leave the server running for looking around.
    """
    clean(invocation, settings)
    # It runs a hundred statements, each for the first time: compiling less is what makes it quick.
    server = invocation.local_server(settings, quick_compiler=True)
    if keep:
        server.start()
    with running_application(settings, local=server) as application:
        yield application


def clean(invocation: Invocation, settings: Settings) -> Path | None:
    """Stop the demo's server and remove its folder; answers which folder that was, if there was one."""
    if not settings.home.exists():
        return None
    invocation.local_server(settings).stop()
    shutil.rmtree(settings.home)
    return settings.home
