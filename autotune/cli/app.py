"""The command's frame: the verbs, and one table from errors to exit codes."""

import sys
from collections.abc import Mapping

import typer

from autotune import __version__
from autotune.cli import diff, doctor, evidence, fetch, importing, schema, selftest, spaces, stop, study
from autotune.cli.system import advice
from autotune.dispatch import ClusterLost
from autotune.doctor import Unfit
from autotune.evidence import NoBaseline
from autotune.fetch import FetchError
from autotune.folder import BadName, StudyExists, UnknownStudy
from autotune.lock import StudyLocked
from autotune.search.search import IndexUnwritable
from autotune.study import BaselineFailed, KeepsLosing
from evals import TaskError
from search_spaces import SpaceError
from trials.data import DataMissing, DataRefused
from trials.engines import EngineNotFound

BAD_INPUT, UNFIT, EXISTS, BASELINE = 2, 3, 4, 5

EXIT_CODES: Mapping[type[Exception], int] = {
    BadName: BAD_INPUT,
    DataRefused: BAD_INPUT,
    NoBaseline: BAD_INPUT,
    SpaceError: BAD_INPUT,
    TaskError: BAD_INPUT,
    UnknownStudy: BAD_INPUT,
    ClusterLost: UNFIT,
    DataMissing: UNFIT,
    EngineNotFound: UNFIT,
    FetchError: UNFIT,
    IndexUnwritable: UNFIT,
    KeepsLosing: UNFIT,
    Unfit: UNFIT,
    StudyExists: EXISTS,
    StudyLocked: EXISTS,
    BaselineFailed: BASELINE,
}

app = typer.Typer(
    name="autotune",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Find the best way to serve an LLM, and prove it.",
    epilog=(
        "Exit codes: 0 done, whatever the verdict; 1 a bug; 2 bad input; 3 this environment is unfit, or trial after "
        "trial was lost; 4 the study exists or is being run; 5 the baseline failed; 10 no win, with --require-win; "
        "11 different, with diff --exit-code; 130 interrupted, can be resumed."
    ),
)
app.command("study")(study.study)
app.command("resume")(study.resume)
app.command("status")(study.status)
app.command("stop")(stop.stop)
app.command("evidence")(evidence.evidence)
app.command("spaces")(spaces.spaces)
app.command("command")(spaces.command)
app.command("schema")(schema.schema)
app.command("fetch")(fetch.fetch)
app.command("doctor")(doctor.doctor)
app.command("import")(importing.import_)
app.command("diff")(diff.diff)
app.command("selftest")(selftest.selftest)


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
    except tuple(EXIT_CODES) as error:
        typer.echo(f"autotune: {error}", err=True)
        sys.exit(next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind)))
    except OSError as error:
        said = advice(error)
        if said is None:
            raise
        typer.echo(f"autotune: {said}", err=True)
        sys.exit(UNFIT)
