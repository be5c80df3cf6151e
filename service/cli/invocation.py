"""What every command is given, and what every command has in common."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Concatenate, Final, ParamSpec

import typer
from typer.core import TyperCommand

from graph.errors import NotReady, SequelaError
from graph.vocabulary import ReasonCode
from service.cli.exits import ExitCode, failure_of
from service.cli.screen import Screen

if TYPE_CHECKING:
    # typer keeps its reader of options to itself, and calls its own methods with this.
    from typer._click.core import Context

    from graph.access import Caller
    from service.bootstrap import Application
    from service.local.server import LocalServer
    from service.settings import Settings

P = ParamSpec("P")

DEFAULT_TENANT: Final = "default"
DEFAULT_PRINCIPAL: Final = "operator"
DEFAULT_PURPOSE: Final = "lineage_review"
DEMO_FOLDER: Final = "demo"
# Ends an example whose names are those of the demo.
AFTER_DEMO: Final = " (after `sequela demo` and the export that it ends with)"

_JSON = Annotated[bool, typer.Option("--json", help="Answer in JSON.", rich_help_panel="Output")]
_WHO: Final = "Who asks"
_TENANT = Annotated[
    str, typer.Option("--tenant", envvar="SEQUELA_TENANT", help="The tenant to act in.", rich_help_panel=_WHO)
]
_PRINCIPAL = Annotated[
    str, typer.Option("--as", envvar="SEQUELA_PRINCIPAL", help="The principal to act as.", rich_help_panel=_WHO)
]
_PURPOSE = Annotated[
    str,
    typer.Option(
        "--purpose", envvar="SEQUELA_PURPOSE", help="What for; a purpose of the policy.", rich_help_panel=_WHO
    ),
]
_OUTPUT_OPTIONS: Final[tuple[tuple[str, object, object], ...]] = (("as_json", _JSON, False),)
_WHO_OPTIONS: Final[tuple[tuple[str, object, object], ...]] = (
    ("tenant", _TENANT, DEFAULT_TENANT),
    ("acting_principal", _PRINCIPAL, DEFAULT_PRINCIPAL),
    ("purpose", _PURPOSE, DEFAULT_PURPOSE),
)


@dataclass(frozen=True)
class Invocation:
    """One call of a command: where it writes, as whom it acts, and whether it only makes sense where a database is."""

    screen: Screen
    tenant: str = DEFAULT_TENANT
    principal: str = DEFAULT_PRINCIPAL
    purpose: str = DEFAULT_PURPOSE
    looks: bool = False

    @contextmanager
    def application(self) -> Generator[Application]:
        """The application on the database of the settings, which is started for the while where it has to be.

        Raises:
            NotReady: the command looks for something, and the home folder has no database: it would make an empty one.
        """
        from service.runtime import running_application  # noqa: PLC0415 - everything heavy hangs on it

        settings = load_settings()
        if self.looks and settings.neo4j_uri is None:
            _database_checked(settings)
        server = None if settings.neo4j_uri else self.local_server(settings)
        if server is not None and not server.status().running:
            self.screen.say("The database of this folder is not running; `sequela db start` keeps it running.")
        with running_application(settings, local=server) as application:
            yield application

    @contextmanager
    def caller(self) -> Generator[tuple[Application, Caller]]:
        """The application and the identity that this command acts as."""
        with self.application() as application:
            yield application, self.caller_for(application)

    def caller_for(self, application: Application) -> Caller:
        """An operator with every role: whoever can run this holds the database anyway."""
        from graph.access import Caller  # noqa: PLC0415 - beside the heavy ones
        from graph.vocabulary import Role  # noqa: PLC0415

        purposes = sorted(application.policy.purposes)
        if self.purpose not in purposes:
            raise typer.BadParameter(f"'{self.purpose}' is none of the policy's: {', '.join(purposes)}.")
        scopes = application.policy.shared_source_scopes
        return Caller(self.tenant, self.principal, frozenset(Role), self.purpose, scopes)

    def local_server(self, settings: Settings, *, quick_compiler: bool = False) -> LocalServer:
        """The private server of the home folder, telling its steps on standard error."""
        from service.local.progress import RichReporter  # noqa: PLC0415 - only where it is needed
        from service.local.server import LocalServer  # noqa: PLC0415

        reporter = RichReporter(self.screen.err)
        return LocalServer(settings.home, heap=settings.neo4j_heap, reporter=reporter, quick_compiler=quick_compiler)

    def end(self, exit_code: ExitCode) -> None:
        """End the command with that code."""
        raise typer.Exit(exit_code)


def _database_checked(settings: Settings) -> None:
    from service.local.paths import Home  # noqa: PLC0415 - beside the heavy ones

    home = settings.home.expanduser().absolute()
    if Home(home).data.is_dir():
        return
    demo = " The demo's is in its folder demo." if Home(home / DEMO_FOLDER).data.is_dir() else ""
    raise NotReady(
        f"there is no database in {home}.{demo} `sequela db start` makes one there; SEQUELA_HOME names another folder, "
        "SEQUELA_NEO4J_URI another server",
        code=ReasonCode.SERVICE_NOT_READY,
    )


def load_settings() -> Settings:
    """The settings of the environment; a wrong one is named and ends the command."""
    from pydantic import ValidationError  # noqa: PLC0415 - a quarter of a second

    from service.settings import Settings  # noqa: PLC0415

    try:
        return Settings()
    except ValidationError as error:
        named = [f"SEQUELA_{str(one['loc'][0]).upper()}: {one['msg']}" for one in error.errors(include_url=False)]
        raise typer.BadParameter("; ".join(named)) from None


class _Command(TyperCommand):
    """A command whose refusals are in its own words, and not those of the library that reads the options."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the options."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


def command(
    app: typer.Typer, name: str, *, example: str, acts: bool = True, looks: bool = False, panel: str | None = None
) -> Callable[[Callable[Concatenate[Invocation, P], None]], Callable[Concatenate[Invocation, P], None]]:
    """Register a command; its first parameter is the `Invocation` of the options that all commands share.

    An error of the domain becomes one line and an exit code here, so that no command has to think of it.

    Args:
        app: where it belongs.
        name: what it is called by.
        example: one line that a person can try.
        acts: whether it acts as somebody, and so takes a tenant, a principal and a purpose.
        looks: whether it is about what a database holds already, so that it makes none.
        panel: the heading of the overview that it stands under.
    """
    shared = (*_WHO_OPTIONS, *_OUTPUT_OPTIONS) if acts else _OUTPUT_OPTIONS

    def register(function: Callable[Concatenate[Invocation, P], None]) -> Callable[Concatenate[Invocation, P], None]:
        @functools.wraps(function)
        def run(**given: object) -> None:
            invocation = _invocation({option: given.pop(option) for option, _, _ in shared}, looks=looks)
            try:
                function(invocation, **given)  # pyright: ignore[reportCallIssue] - typer fills the parameters by name
            except SequelaError as error:
                raise typer.Exit(invocation.screen.fail(failure_of(error))) from None

        run.__signature__ = _signature(function, shared)  # pyright: ignore[reportAttributeAccessIssue]
        # The signature says it all; these would be read a second time, which --help would feel.
        run.__annotations__ = {}
        app.command(name, cls=_Command, epilog=f"Example: {example}", rich_help_panel=panel)(run)
        return function

    return register


def _signature(function: Callable[..., None], shared: tuple[tuple[str, object, object], ...]) -> inspect.Signature:
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    kind = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(name, kind, default=default, annotation=shape) for name, shape, default in shared]
    return inspect.Signature([*(parameter.replace(kind=kind) for parameter in own), *added])


def _invocation(shared: dict[str, object], *, looks: bool) -> Invocation:
    screen = Screen(as_json=bool(shared["as_json"]))
    if "tenant" not in shared:
        return Invocation(screen, looks=looks)
    who = (str(shared["tenant"]), str(shared["acting_principal"]), str(shared["purpose"]))
    return Invocation(screen, *who, looks=looks)
