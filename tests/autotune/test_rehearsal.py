"""A rehearsal is of what the emulated engine can stand in for: vLLM with the model of its landscapes."""

from pathlib import Path

import pytest

from autotune.rehearsal import at_start, refuse_other, rehearsed
from search_spaces import SpaceError, Target, load, names, resolve
from search_spaces.parse import source
from trials.engines.emulated import landscape
from trials.engines.emulated.from_recipe import command


def target(engine: str = "vllm", model: str = "amd/Kimi-K2.5-MXFP4") -> Target:
    """Return something to serve."""
    return Target(engine=engine, model=model, hardware="mi355x")


def test_the_space_of_the_landscapes_is_rehearsed_without_an_image() -> None:
    found = rehearsed(load("kimik2.5-mi355x"))
    assert (found.target.engine, found.target.image) == ("emulated", None)
    assert rehearsed(found) == found


@pytest.mark.parametrize("name", ["L0", "L1", "L2"])
def test_kimis_rehearsals_start_where_their_landscapes_do(name: str) -> None:
    serve = resolve(at_start(load("kimik2.5-mi355x")), {}).serve
    env = {name: value for name, value in serve.env.items() if value is not None}
    argv = (*serve.args, "--tensor-parallel-size", str(serve.layout["tp"]))
    assert command([str(word) for word in argv], env).config == landscape.load(name).baseline


def test_another_start_changes_nothing_of_what_is_known(tmp_path: Path) -> None:
    real = load("kimik2.5-mi355x")
    path = tmp_path / "kimik2.5-mi355x.yaml"
    path.write_text(source(at_start(real)), encoding="utf-8")
    kept = load(path)
    assert at_start(kept) == kept
    assert [resolve(kept, dict(one.set)).serve for one in kept.known] == [
        resolve(real, dict(one.set)).serve for one in real.known
    ]


@pytest.mark.parametrize("name", sorted(set(names()) - {"kimik2.5-mi355x"}))
def test_a_space_of_another_engine_or_model_is_refused_with_those_that_are_not(name: str) -> None:
    space = load(name)
    with pytest.raises(SpaceError) as refused:
        rehearsed(space)
    said = str(refused.value)
    assert said.startswith(f"{name}: {space.target.engine} with {space.target.model} can't be rehearsed")
    assert said.endswith("name a space that can be: kimik2.5-mi355x")


@pytest.mark.parametrize(
    ("of", "args"),
    [
        (target(), ()),
        (target("emulated"), ("--max-model-len", 9472)),
        (target(model="/weights/Kimi-K2.5-MXFP4/"), ()),
        (target(model="kimi"), ("/weights/Kimi-K2.5-MXFP4", "--trust-remote-code")),
    ],
)
def test_the_model_is_known_by_its_name_wherever_its_weights_are(of: Target, args: tuple[object, ...]) -> None:
    refuse_other(of, args, name="mine")


@pytest.mark.parametrize("of", [target("atom"), target("sglang"), target(model="kimi"), target("emulated", "m")])
def test_another_engine_or_model_is_refused(of: Target) -> None:
    with pytest.raises(SpaceError, match=f"mine: {of.engine} with {of.model} can't be rehearsed"):
        refuse_other(of, ("--trust-remote-code",), name="mine")
