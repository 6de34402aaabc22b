"""What the name of an emulated image says."""

import json
from pathlib import Path

import pytest

from tests.fakes.emulated import QUIET, running
from trials.emulation import Emulation
from trials.engines.emulated.from_recipe import command
from trials.engines.emulated.images import BadImage, Image, image
from trials.load.client import text
from trials.serving import Launch

PERSIST = "VLLM_AITER_MLA_PERSISTENT_METADATA"


def test_a_tag_means_nothing() -> None:
    assert image("emulated:v0.22") == Image()
    assert image("emulated:v0.18") == Image()


def test_effects_follow_a_question_mark() -> None:
    assert image("emulated:v0.18?persist=0,rate=0.95") == Image(env={PERSIST: "0"}, rate=0.95)


@pytest.mark.parametrize(
    "name",
    ["vllm/vllm-openai:v0.18", "emulated:a?", "emulated:a?b=1", "emulated:a?persist=2", "emulated:a?rate=fast"]
    + [f"emulated:a?rate={rate}" for rate in ("0", "-1", "inf", "nan")],
)
def test_what_is_not_understood_is_refused(name: str) -> None:
    with pytest.raises(BadImage, match="is not"):
        image(name)


def test_a_recipe_that_sets_a_variable_has_its_way() -> None:
    told = image("emulated:old?persist=0").env
    assert command(["m"], {**told}).config.persist == 0
    assert command(["m"], {**told, PERSIST: "1"}).config.persist == 1


@pytest.mark.parametrize(("name", "told"), [("emulated:a?rate=2", "emulated:a?rate=2"), ("vllm/vllm:1", None)])
def test_a_rehearsal_passes_on_the_image_that_says_something(name: str, told: str | None, tmp_path: Path) -> None:
    launch = Launch(
        engine="vllm",
        model="m",
        args=(),
        env={},
        files={},
        data_root=tmp_path,
        folder=tmp_path,
        ready_s=1.0,
        stop_s=1.0,
        request_s=1.0,
        launcher="docker",
        image=name,
    )
    stand_in = Emulation(landscape="L0", seed=0, noise=0.0, flaky=0.0).instead_of(launch)
    assert stand_in.env.get("AUTOTUNE_EMULATED_IMAGE") == told
    assert (stand_in.launcher, stand_in.image) == ("process", None)


def test_the_server_runs_as_its_image_says() -> None:
    with running(options=[*QUIET, "--image", "emulated:old?persist=0"], env={}) as emulated:
        config = json.loads(text(f"{emulated.url}/emulated", timeout_s=10.0))["config"]
    assert config["persist"] == 0
