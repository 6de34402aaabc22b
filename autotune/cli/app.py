"""The command's frame: the verbs, and one table from errors to exit codes."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from autotune import __version__
from autotune.cli.system import advice

BAD_INPUT, UNFIT, EXISTS, BASELINE = 2, 3, 4, 5

EXIT_CODES: Mapping[str, int] = {
    "autotune.folder.BadName": BAD_INPUT,
    "autotune.comparisons.OtherComparison": BAD_INPUT,
    "trials.data.DataRefused": BAD_INPUT,
    "autotune.evidence.evidence.NoBaseline": BAD_INPUT,
    "search_spaces.errors.SpaceError": BAD_INPUT,
    "evals.exam.TaskError": BAD_INPUT,
    "autotune.folder.UnknownStudy": BAD_INPUT,
    "autotune.dispatch.ClusterLost": UNFIT,
    "trials.data.DataMissing": UNFIT,
    "trials.engines.adapter.EngineNotFound": UNFIT,
    "autotune.fetch.FetchError": UNFIT,
    "autotune.search.index.NoIndex": BAD_INPUT,
    "autotune.search.search.IndexUnwritable": UNFIT,
    "autotune.dashboard.DashboardMissing": UNFIT,
    "autotune.dashboard.PortTaken": UNFIT,
    "autotune.study.KeepsLosing": UNFIT,
    "autotune.campaign.LaunchesLost": UNFIT,
    "autotune.protocols.OtherProtocol": UNFIT,
    "autotune.doctor.Unfit": UNFIT,
    "autotune.comparisons.ComparisonExists": EXISTS,
    "autotune.folder.StudyExists": EXISTS,
    "autotune.lock.StudyLocked": EXISTS,
    "autotune.study.BaselineFailed": BASELINE,
}
"""Of the errors that a user can mend, by where they are defined."""

VERBS: Mapping[str, tuple[str, str]] = {
    "study": ("autotune.cli.study", "study"),
    "resume": ("autotune.cli.study", "resume"),
    "status": ("autotune.cli.study", "status"),
    "stop": ("autotune.cli.stop", "stop"),
    "evidence": ("autotune.cli.evidence", "evidence"),
    "explain": ("autotune.cli.explain", "explain"),
    "dashboard": ("autotune.cli.dashboard", "dashboard"),
    "spaces": ("autotune.cli.spaces", "spaces"),
    "command": ("autotune.cli.spaces", "command"),
    "schema": ("autotune.cli.schema", "schema"),
    "fetch": ("autotune.cli.fetch", "fetch"),
    "doctor": ("autotune.cli.doctor", "doctor"),
    "selftest": ("autotune.cli.selftest", "selftest"),
    "import": ("autotune.cli.importing", "import_"),
    "diff": ("autotune.cli.diff", "diff"),
    "compare": ("autotune.cli.compare", "compare"),
    "bisect": ("autotune.cli.bisect", "bisect"),
    "noise": ("autotune.cli.noise", "noise"),
}
"""Module and function of each verb."""


class Verbs(TyperGroup):
    """The verbs, each imported when it is asked for: Ray, lm-eval and Matplotlib take seconds, and few need them."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002 typer's is click's
        """Return their names, in the order of a study."""
        return list(VERBS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> TyperCommand | None:  # type: ignore[override]  # noqa: ARG002
        """Return one of them."""
        if cmd_name not in VERBS:
            return None
        module, function = VERBS[cmd_name]
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(cmd_name)(getattr(import_module(module), function))
        return cast("TyperCommand", get_command(single))


app = typer.Typer(
    name="autotune",
    cls=Verbs,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Find the best way to serve an LLM, and prove it.",
    epilog=(
        "Exit codes: 0 done, whatever the verdict; 1 a bug; 2 bad input; 3 this environment is unfit, or trial after "
        "trial was lost; 4 the study exists or is being run; 5 the baseline failed, or the first side of "
        "a comparison; 10 no win, with --require-win; 11 different, with diff --exit-code; 130 interrupted, can be "
        "resumed."
    ),
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"autotune {__version__}")
        raise typer.Exit


@app.callback()
def _frame(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Say which, and end."),
) -> None:
    pass


def main() -> None:
    """Run the command line; errors that a user can mend become one message and a documented exit code."""
    try:
        app()
    except OSError as error:
        said = advice(error)
        if said is None:
            raise
        typer.echo(f"autotune: {said}", err=True)
        sys.exit(UNFIT)
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        typer.echo(f"autotune: {error}", err=True)
        sys.exit(code)


def exit_code(error: Exception) -> int | None:
    """Return the exit code of an error that a user can mend; None of any other, which is a bug."""
    names = (f"{kind.__module__}.{kind.__name__}" for kind in type(error).__mro__)
    return next((EXIT_CODES[name] for name in names if name in EXIT_CODES), None)
