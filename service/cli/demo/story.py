"""The story of the demo: a small world, one deletion, and what is left of it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from graph.access import Caller
from graph.database.checker import CheckReport, check
from graph.deletion.model import OutcomeView, Preview, RequestView
from graph.lineage.model import DEFAULT_EDGES, Direction, LineagePage, Selection
from graph.records.draft import tenant_locator
from graph.records.model import RegisterStatus
from graph.vocabulary import Role
from service.bootstrap import Application
from service.cli.checking import report_lines
from service.cli.deleting import finish, outcome_views
from service.cli.demo.narrator import Narrator
from service.cli.demo.published import import_published
from service.cli.importing import prov_lines
from service.cli.outcomes import preview_lines, request_document, request_lines
from service.cli.screen import Screen
from service.cli.tables import cell, grid, outcome_cell, outline
from service.cli.trees import Branch, tree_of
from service.cli.walking import branches_of, receipt_line, walk
from service.connectors.files import FilesConnector
from service.formats.ndjson import import_lines
from service.formats.scenario import Scenario, default_scenario, load_scenario


@dataclass(frozen=True)
class Demo:
    """One run: who acts, on which scenario, and who is told.

    Attributes:
        application: does the work.
        caller: somebody of the scenario's tenant with every role.
        scenario: the world and what happens in it.
        names: the scenario's own names for its records, by id.
        root: the id of the record that is deleted.
        narrator: tells the person.
        screen: shows progress.
    """

    application: Application
    caller: Caller
    scenario: Scenario
    names: Mapping[str, str]
    root: str
    narrator: Narrator
    screen: Screen


def open_demo(screen: Screen, application: Application) -> Demo:
    """Load the scenario and take its place in it."""
    scenario = load_scenario(default_scenario(), application.keys, base=application.clock.now())
    scopes = application.policy.shared_source_scopes
    caller = Caller(scenario.tenant_id, scenario.principal_id, frozenset(Role), scenario.purpose, scopes)
    named = [(record.name, record.scope) for record in [*scenario.records, *scenario.late_jobs] if record.name]
    names = {str(application.keys.identity(caller.tenant_id, name, scope=scope)): name for name, scope in named}
    subject = (scenario.deletion.subject.names or [])[0]
    root = application.keys.identity(caller.tenant_id, subject.name, scope=subject.scope)
    return Demo(application, caller, scenario, names, root, Narrator(screen), screen)


def play(demo: Demo, *, keep: bool) -> dict[str, object]:
    """Tell the whole story; answers what happened as a document."""
    registered = register_world(demo)
    import_document(demo)
    show_before(demo)
    view = delete(demo, preview(demo))
    outcomes = list(outcome_views(demo.application, demo.caller, view.request_id))
    show_after(demo, outcomes)
    files_left = show_files(demo)
    replayed = replay(demo)
    receipt = show_receipt(demo, view)
    report = check_graph(demo)
    look_around(demo, view, keep=keep)
    return {
        "tenantId": demo.caller.tenant_id,
        "recordId": demo.root,
        "registered": registered,
        "request": request_document(view),
        "filesLeft": files_left,
        "replayed": replayed,
        "receipt": receipt,
        "clean": report.clean,
    }


def register_world(demo: Demo) -> dict[str, int]:
    """Register the scenario's records and put their copies into the files store."""
    scenario = demo.scenario
    demo.narrator.heading("A small world")
    demo.narrator.say(
        "A technician asks for a part that replaces a pump. An agent reads manuals, infers, proposes and summarizes;",
        "and it remembers that this technician wants short explanations. Each of these is a record, registered together",
        "with what it was made of.",
    )
    store = FilesConnector(demo.application.settings.files_store_root)
    for locator, data in scenario.store_files.items():
        store.write(tenant_locator(demo.caller.tenant_id, locator), data)
    results = demo.application.registrar.register(scenario.records, demo.caller)
    statuses = Counter(result.status.value for result in results)
    demo.narrator.say(
        f"{len(results)} records: {', '.join(f'{number} {status}' for status, number in sorted(statuses.items()))};",
        f"{len(scenario.store_files)} of them have a copy outside the graph, in the files store.",
    )
    return dict(statuses)


def import_document(demo: Demo) -> None:
    """Import a document that others published."""
    demo.narrator.heading("Lineage from elsewhere")
    imported = import_published(demo.application, demo.caller)
    if imported is None:
        demo.narrator.say("The package `prov` is not installed, so there is no published document to import.")
        return
    file, report = imported
    demo.narrator.say(f"{file} is a PROV-JSON document out of the test data that the package `prov` publishes.")
    demo.narrator.show(*prov_lines(report))


def show_before(demo: Demo) -> None:
    """The tree of what came of the record that will be deleted."""
    demo.narrator.heading("What came of the preference")
    page = _walk(demo, include_deleted=False)
    label = Text.assemble(("user_preference", "bold"), f"  {demo.names[demo.root]}")
    demo.narrator.show(tree_of(demo.root, label, branches_of(page.items, demo.names), demo.names))
    demo.narrator.show(receipt_line(page.receipt, shown=len(page.items)))


def preview(demo: Demo) -> Preview:
    """What the deletion would do."""
    demo.narrator.heading("What its deletion would do")
    demo.narrator.say(
        "The technician asks for the preference to be deleted. The policy says, kind by kind, what that means: by one rule",
        "for a derivative that no other live source carries (alone), by another for one that has such a source",
        "(supported). Most kinds go either way; a summary that has another source is emptied and waits to be made anew",
        "from it. Nothing has happened yet.",
    )
    planned = demo.application.deletions.preview(demo.scenario.deletion, demo.caller)
    demo.narrator.show(*preview_lines(planned, demo.names))
    return planned


def delete(demo: Demo, planned: Preview) -> RequestView:
    """Run exactly what was previewed."""
    demo.narrator.heading("The deletion")
    demo.narrator.say("It is filed with the preview's digest: were the graph another by now, it would be refused.")
    bound = demo.scenario.deletion.model_copy(update={"expected_digest": planned.digest})
    application = demo.application
    filed = application.deletions.file(bound, demo.caller, application.ids.new())
    view = finish(application, demo.caller, filed.request_id, demo.screen)
    demo.narrator.show(*request_lines(view))
    return view


def show_after(demo: Demo, outcomes: Sequence[OutcomeView]) -> None:
    """The same tree again: ids and edges are left, and what became of each."""
    demo.narrator.heading("What is left")
    demo.narrator.say(
        "Of what was deleted only ids, edges, and a tombstone with its instant, reason and policy are left. The names",
        "below are this demo's own; those of deleted records are nowhere in the graph any more.",
    )
    page = _walk(demo, include_deleted=True)
    settled: defaultdict[str, list[OutcomeView]] = defaultdict(list)
    for outcome in outcomes:
        settled[outcome.identity].append(outcome)
    branches = [
        Branch(
            item.identity, item.depth, _ended(demo, item.identity, settled[item.identity]), _via(page, item.identity)
        )
        for item in page.items
    ]
    demo.narrator.show(tree_of(demo.root, _ended(demo, demo.root, settled[demo.root]), branches, demo.names))
    demo.narrator.show(receipt_line(page.receipt, shown=len(page.items)))


def show_files(demo: Demo) -> list[str]:
    """Whether the copies in the files store are gone; answers those that are not."""
    store = FilesConnector(demo.application.settings.files_store_root)
    table = grid("copy in the files store", "now")
    tenant_id = demo.caller.tenant_id
    written = sorted(demo.scenario.store_files)
    left = [locator for locator in written if any(store.present([tenant_locator(tenant_id, locator)]))]
    for locator in written:
        table.add_row(
            cell(locator), Text("there", style="bold red") if locator in left else Text("gone", style="green")
        )
    demo.narrator.show(table)
    return left


def replay(demo: Demo) -> list[dict[str, object]]:
    """Submit jobs that come too late, and import an export from before the deletion."""
    demo.narrator.heading("Late jobs and a stale import")
    demo.narrator.say(
        "Jobs that were queued before the deletion finish now, and somebody imports an old export. The tombstones keep",
        "out what was deleted and what is made of it; the rest comes in.",
    )
    application, scenario = demo.application, demo.scenario
    rows: list[tuple[str, str | None, RegisterStatus, str | None]] = []
    late = application.registrar.register(scenario.late_jobs, demo.caller)
    for record, result in zip(scenario.late_jobs, late, strict=True):
        rows.append(("late job", record.name, result.status, result.code))
    stale = import_lines(scenario.stale_import, application.registrar, demo.caller)
    for line, result in zip(scenario.stale_import, stale, strict=True):
        rows.append(("stale import", json.loads(line)["name"], result.status, result.code))
    table = grid("what", "name", "became", "code")
    for what, name, status, code in rows:
        style = "bold red" if status is RegisterStatus.REFUSED else "green"
        table.add_row(cell(what), cell(name), Text(status.value, style=style), cell(code))
    demo.narrator.show(table)
    return [{"what": what, "name": name, "status": status.value, "code": code} for what, name, status, code in rows]


def show_receipt(demo: Demo, view: RequestView) -> dict[str, object]:
    """The receipt, as whoever asked for the deletion gets it."""
    demo.narrator.heading("The receipt")
    receipt = json.loads(demo.application.deletions.receipt(view.request_id, demo.caller))
    demo.narrator.show(outline(receipt))
    return receipt


def check_graph(demo: Demo) -> CheckReport:
    """Hold the graph against every invariant."""
    demo.narrator.heading("The check")
    report = check(demo.application.database, demo.application.policy)
    demo.narrator.show(*report_lines(report))
    return report


def look_around(demo: Demo, view: RequestView, *, keep: bool) -> None:
    """Commands to go on with."""
    home = demo.application.settings.home
    demo.narrator.heading("Look around")
    running = "is left running" if keep else "stops now; each command starts it again for a moment (--keep leaves it)"
    demo.narrator.say(f"Everything lies in {home}. The database {running}.")
    settings = f"SEQUELA_HOME='{home}' SEQUELA_TENANT={demo.caller.tenant_id} SEQUELA_PURPOSE={demo.caller.purpose}"
    for line in (
        f"export {settings}",
        f"sequela lineage {demo.root} --deleted",
        f"sequela outcomes {view.request_id}",
        "sequela show --name summary/job --scope pump",
        "sequela serve          # the API; its documentation is at /docs of the address that it tells",
        "unset SEQUELA_HOME SEQUELA_TENANT SEQUELA_PURPOSE; sequela demo --clean",
    ):
        demo.narrator.command(line)


def _walk(demo: Demo, *, include_deleted: bool) -> LineagePage:
    selection = Selection(demo.root, Direction.DOWNSTREAM, None, DEFAULT_EDGES, None, include_deleted)
    return walk(demo.application, demo.caller, selection, limit=1_000)


def _via(page: LineagePage, identity: str) -> list[tuple[str, str]]:
    return [(step.edge, step.identity) for item in page.items if item.identity == identity for step in item.via]


def _ended(demo: Demo, identity: str, outcomes: Sequence[OutcomeView]) -> Text:
    """A name with what became of it in each store."""
    label = Text(demo.names.get(identity, identity))
    for outcome in sorted(outcomes, key=lambda one: one.store):
        label.append("  ").append(f"{outcome.store}: ", style="dim").append(outcome_cell(outcome.outcome))
    return label
