"""The emulated engine under the supervisor that starts every engine."""

from pathlib import Path

import pytest

from tests.fakes.emulated import spelled
from trials.engines import engine
from trials.engines.asked import mismatches
from trials.engines.emulated.landscape import load
from trials.engines.emulated.log import virtual_s
from trials.load.client import text
from trials.serving import EngineFailed, Launch, serving
from trials.supervisor import LOG

BASE = load("L2").baseline


def launch(folder: Path, **changes: str | int) -> Launch:
    """Return a launch of a changed baseline."""
    args, env = spelled(BASE._replace(**changes))  # type: ignore[arg-type]  # a config's values
    settings = {
        "AUTOTUNE_EMULATED_LANDSCAPE": "L2",
        "AUTOTUNE_EMULATED_FLAKY": "0",
        "AUTOTUNE_EMULATED_SEED": "trial-1",
    }
    return Launch(
        engine="emulated",
        model="amd/Kimi-K2.5-MXFP4",
        args=args,
        env={**env, **settings},
        files={},
        data_root=folder,
        folder=folder / "launch",
        ready_s=60.0,
        stop_s=10.0,
        request_s=30.0,
    )


def test_it_is_started_proved_and_stopped_like_any_engine(tmp_path: Path) -> None:
    with serving(launch(tmp_path)) as endpoint:
        assert '"landscape": "L2"' in text(f"{endpoint.url}/emulated", timeout_s=10.0)
        told = engine("emulated").effective(endpoint.said()) or {}
        assert (told["gpu_memory_utilization"], told["block_size"]) == (str(BASE.gmu), str(BASE.block))
        assert mismatches(engine("emulated"), endpoint.launch.args, endpoint.launch.env, endpoint.said()) == ()
    log = (tmp_path / "launch" / LOG).read_text()
    assert (engine("emulated").effective(log) or {})["cudagraph_mode"] == "PIECEWISE"
    assert (virtual_s(log.splitlines()) or 0) > 60 * 8


def test_a_start_that_is_stuck_is_not_waited_for(tmp_path: Path) -> None:
    with (
        pytest.raises(EngineFailed, match="EMULATED: not ready in time") as failed,
        serving(launch(tmp_path, sort="opus", rms=1)),
    ):
        pass
    assert failed.value.failure.kind == "stuck"
    assert virtual_s((tmp_path / "launch" / LOG).read_text().splitlines()) == 2400.0
