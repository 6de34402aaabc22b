"""`autotune selftest`: can this machine's load generator measure a space's load?"""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from autotune.cli.options import AsJson, DataRoot
from autotune.doctor import client, open_files, refuse_unfit
from search_spaces import load
from trials.data import data_root, workload_file
from trials.load.selftest import TOKENS_PER_S_PER_USER, Figures, SelfTest
from trials.load.selftest import selftest as run


def selftest(
    space: Annotated[str, typer.Argument(help="A shipped space (see `autotune spaces`), or the path of your own.")],
    tok_per_s: Annotated[
        float, typer.Option(min=0.1, help="Tokens a second that the engine is taken to send each user.")
    ] = TOKENS_PER_S_PER_USER,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Users at once; default: the space's most.")] = None,
    data: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """
    Try the load generator on a server that knows what is true; exit code 3 if it can't measure this load.

    It sends the space's prompts at its highest concurrency, or as they arrive at its request rate, with answers cut to
    a second. What the engine will send each user is an assumption; a study and `resume` make the default one.
    """
    loaded = load(space)
    file = workload_file(loaded.workload, space_folder=loaded.folder, data_root=(data or data_root()).resolve())
    refuse_unfit([open_files(loaded)])
    test = run(loaded.workload, file=file, concurrency=concurrency, tokens_per_s_per_user=tok_per_s)
    typer.echo(json.dumps({**asdict(test), "fit": test.fit}) if as_json else "\n".join(_lines(test)))
    refuse_unfit([client(test)])


def _lines(test: SelfTest) -> list[str]:
    figures = test.figures
    verdict = typer.style("fit", fg=typer.colors.GREEN) if test.fit else typer.style("unfit", fg=typer.colors.RED)
    return [f"{verdict}: {_asked(figures)}", *(f"  {what:<26} {value}" for what, value in _rows(figures))]


def _asked(figures: Figures) -> str:
    processes = f"{figures.processes} process{'es' if figures.processes > 1 else ''}"
    rate = figures.request_rate
    users = (
        f"{figures.concurrency} users"
        if rate is None
        else f"{rate:.3g} requests a second of {figures.concurrency} users"
    )
    return f"{users} at {figures.tokens_per_s_per_user:g} tok/s each, {processes} of the client"


def _rows(figures: Figures) -> list[tuple[str, str]]:
    if figures.late is None or figures.ttft_error_ms is None:
        return [("a request failed", f"{figures.failed}")]
    return [
        ("most requests at once", f"{figures.peak}"),
        ("throughput", f"{figures.rate:.1%} of what was asked"),
        ("a step is read", f"{figures.late:.2f} of its time after it was sent (median)"),
        ("processor", f"{figures.cpu:.0%} of a core, the busiest process"),
        ("time to first token", f"wrong by {figures.ttft_error_ms:.2f} ms (median)"),
        ("event loop", f"late by {figures.lag_ms:.2f} ms (99th percentile)"),
    ]
