"""What is interrupted: whole stories that may be told again from the beginning, and then come to the same end.

`deletion` begins with an empty database: schema, records with a little of everything, a hold, a deletion, its work, the
release, and what that resumes. `odd` has a request that is refused when it runs, and a tombstone that is tampered with
before it is read back. `restore` begins with a database from before all of that, beside the journal of after it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from graph.access import Caller
from graph.clock import SECOND, instant_to_text
from graph.database.database import Database
from graph.envelope import RecordInput
from graph.vocabulary import Role
from service.bootstrap import Application
from service.connectors.files import FilesConnector
from service.runtime import running_application
from service.settings import Settings
from service.workers.worker import Worker
from tests.support.deletion import by_ids, hold, placed, with_copy
from tests.support.graph_copy import Taken, load_graph, take_graph
from tests.support.processes import until
from tests.support.records import PURPOSE, TENANT, derived, record

KEY = b"k" * 32
CALLER = Caller(TENANT, "tech-17", frozenset(Role), PURPOSE)
DAY = 86_400 * SECOND
IDLE_SECONDS = 240.0
ENDED = ("COMPLETED", "COMPLETED_WITH_EXCEPTIONS", "CLOSED_WITH_OWNED_FAILURES", "REJECTED")


@dataclass(frozen=True)
class Template:
    """What a story begins with: a home folder and a graph."""

    home: Path
    graph: Taken


def review_at(application: Application) -> str:
    """When the hold is reviewed: a midnight some weeks ahead, the same whenever a day's runs repeat the call."""
    return instant_to_text((application.clock.now() // DAY + 60) * DAY)


def world(application: Application) -> list[RecordInput]:
    """Support by another source, a hold, a copy, a store without connector, a diamond, versions, several outputs."""
    call = {"operation": {"type": "model_call", "operationId": "call-1"}}
    return [
        record("manual"),
        record("r0"),
        record("r", supersedes=application.keys.identity(TENANT, "r0")),
        derived("s", "r", "manual"),
        derived("held", "r"),
        derived("t", "s"),
        with_copy("copy", "r"),
        derived("stuck", "r", stores=[{"storeId": "vector_index", "locator": "v1"}]),
        derived("left", "r"),
        derived("right", "r"),
        derived("top", "left", "right"),
        derived("output-1", "r", **call),
        derived("output-2", "r", **call),
    ]


NAMES = (
    *("manual", "r0", "r", "s", "held", "t", "copy", "stuck", "left", "right", "top", "output-1", "output-2"),
    *("victim", "tampered", "tampered-copy"),
)


def tell_deletion(application: Application) -> None:
    """From the first record to the end of what the release resumed."""
    begin(application)
    finish(application)


def begin(application: Application) -> None:
    """Register everything, and hold one of it; what is there already, or was deleted already, is left as it is."""
    application.registrar.register(world(application), CALLER)
    hold(application, CALLER, application.keys.identity(TENANT, "held"), key="hold", reviewAt=review_at(application))


def finish(application: Application) -> None:
    """Delete, work, release, and work again."""
    scope = [application.keys.identity(TENANT, name) for name in ("r", "r0")]
    filed = application.deletions.file(by_ids(*scope), CALLER, "delete").request_id
    work_to_the_end(application)
    application.deletions.retry(filed, CALLER)
    placed_hold = hold(
        application, CALLER, application.keys.identity(TENANT, "held"), key="hold", reviewAt=review_at(application)
    )
    application.holds.release(placed_hold.hold_id, CALLER)
    work_to_the_end(application)


def tell_odd(application: Application) -> None:
    """A request that its requester may not have any more, and content that somebody put back."""
    application.registrar.register(
        [record("victim"), record("tampered"), with_copy("tampered-copy", "tampered", locator="copy.bin")], CALLER
    )
    victim, tampered = (application.keys.identity(TENANT, name) for name in ("victim", "tampered"))
    limited = Caller(TENANT, "tech-17", frozenset({Role.PRIVACY}), PURPOSE)
    refused = application.deletions.file(by_ids(victim), limited, "refused").request_id
    without_grants = replace(application, policy=replace(application.policy, grants={}))
    # One count of the visits: a failpoint of its own would act once more.
    without_grants.__dict__["failpoints"] = application.failpoints
    without_grants.deletions.advance(refused)
    filed = application.deletions.file(by_ids(tampered), CALLER, "delete").request_id
    if application.deletions.advance(filed).state not in ENDED:
        application.database.administer(
            "MATCH (n:Identity {identity: $tampered}) SET n.content = 'Old-Text-Again'", tampered=tampered
        )
    work_to_the_end(application)
    application.deletions.retry(filed, CALLER)
    work_to_the_end(application)


def tell_restore(application: Application) -> None:
    """The start has gone through the journal; what is left to the workers is done here."""
    work_to_the_end(application)


STORIES: dict[str, Callable[[Application], None]] = {
    "deletion": tell_deletion,
    "odd": tell_odd,
    "restore": tell_restore,
}


def tell(story: str) -> None:
    """Run a story in this process, with the settings of its environment, the way a command of the service would."""
    with running_application(Settings()) as application:
        STORIES[story](application)


def work_to_the_end(application: Application) -> None:
    """Work until every request has ended, past leases that others hold."""
    worker = Worker(application, f"story-{application.ids.new()}")

    def ended() -> bool:
        while worker.run_once():
            pass
        return set(request_states(application.database)) <= {*ENDED}

    assert until(ended, IDLE_SECONDS), request_states(application.database)


def request_states(database: Database) -> list[str]:
    return [row.text("state") for row in database.administer("MATCH (q:Request) RETURN q.state AS state")]


def new_home(home: Path) -> FilesConnector:
    """A home with an identity key and a files store that has one copy."""
    home.mkdir(parents=True)
    (home / "identity.key").write_bytes(KEY)
    (home / "identity.key").chmod(0o600)
    files = FilesConnector(home / "files")
    files.create("root-1")
    files.write(placed("copy.bin"), b"a copy")
    return files


def template_of(story: str, folder: Path, settings: Settings, database: Database) -> Template:
    """What that story begins with, made in `folder` and on the server of the settings, whose data is lost.

    Args:
        story: its name.
        folder: where the home may be made.
        settings: of any home; the server's address is taken from it.
        database: that server, past the product.
    """
    home = folder / f"{story}-template"
    files = new_home(home)
    if story != "restore":
        return Template(home, ([], []))
    empty(database)
    with running_application(settings.model_copy(update={"home": home})) as application:
        application.registrar.register(world(application), CALLER)
        taken = take_graph(application.database)
        tell_deletion(application)
    files.write(placed("copy.bin"), b"a copy")
    return Template(home, taken)


def lay_out(template: Template, home: Path, database: Database) -> None:
    """Put home and graph into the state that a story begins with."""
    shutil.copytree(template.home, home)
    empty(database)
    load_graph(database, template.graph)


def empty(database: Database) -> None:
    """Delete everything; of the schema's steps, which are long, only the first is then to be marked again."""
    database.administer(
        "OPTIONAL MATCH (v:SchemaVersion) WITH min(v.step) AS first"
        " MATCH (n) WHERE NOT n:SchemaVersion OR n.step IN [first, 'identity_key'] DETACH DELETE n"
    )
