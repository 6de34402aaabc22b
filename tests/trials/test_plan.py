"""What a plan launches: the recipe's flags with those of its layout, by the target's launcher."""

from dataclasses import replace
from pathlib import Path

from search_spaces import Serve, Target
from tests.fakes.plans import plan
from trials.plan import Plan


def launched(folder: Path, target: Target, serve: Serve) -> Plan:
    """Return a plan of another target, served so at every concurrency."""
    made = plan(folder)
    return replace(made, recipe=made.recipe.model_copy(update={"target": target, "serve": serve}))


def test_a_layout_becomes_the_engines_own_flags_after_the_recipes(tmp_path: Path) -> None:
    target = Target(engine="sglang", model="m", hardware="mi355x", image="lmsysorg/sglang:1", launcher="podman")
    serve = Serve(args=("--page-size", "16"), layout={"tp": 4, "ep": 4})
    (launch,) = (way.launch for way in launched(tmp_path, target, serve).launches())
    assert launch.args == ("--page-size", "16", "--tp-size", "4", "--ep-size", "4")
    assert (launch.launcher, launch.image) == ("podman", "lmsysorg/sglang:1")


def test_without_a_launcher_an_image_is_only_written_down(tmp_path: Path) -> None:
    target = Target(engine="llamacpp", model="m", hardware="cpu", image="llama:1")
    (launch,) = (way.launch for way in launched(tmp_path, target, Serve()).launches())
    assert launch.launcher == "process"
