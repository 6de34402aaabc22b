"""`autotune selftest`: what it prints, and when a study may not begin."""

import json
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from autotune.cli.selftest import selftest
from autotune.doctor import Unfit, client, refuse_unfit
from trials.load.selftest import Figures, SelfTest

FIT = SelfTest(
    figures=Figures(
        concurrency=4,
        tokens_per_s_per_user=50.0,
        processes=1,
        peak=4,
        failed=None,
        rate=1.0,
        server_rate=1.0,
        late=0.01,
        cpu=0.02,
        ttft_error_ms=0.3,
        lag_ms=1.0,
    ),
    faults=(),
    advice=(),
)


def test_a_client_that_is_fit_is_let_through() -> None:
    assert refuse_unfit([client(FIT)]) == []


def test_one_that_is_not_is_refused_with_what_would_help() -> None:
    unfit = replace(FIT, faults=("the loop is late",), advice=("end other programs",))
    with pytest.raises(Unfit, match="can't measure this load here: the loop is late: end other programs"):
        refuse_unfit([client(unfit)])


def test_where_nothing_is_known_to_help_another_try_is_advised() -> None:
    with pytest.raises(Unfit, match="try again when the machine is idle"):
        refuse_unfit([client(replace(FIT, faults=("the loop is late",)))])


def test_the_command_tells_every_figure_of_a_real_try() -> None:
    app = typer.Typer()
    app.command()(selftest)
    ran = CliRunner().invoke(app, ["demo", "--concurrency", "2", "--tok-per-s", "40", "--json"])
    told = json.loads(ran.stdout)
    assert told["figures"]["concurrency"] == told["figures"]["peak"] == 2
    assert told["fit"] == (told["faults"] == [])
    assert isinstance(ran.exception, Unfit) != told["fit"]
