"""What a user may name to be compared: what a space says, its command line says too."""

import shlex
from pathlib import Path

import pytest

from autotune.diff import differences
from autotune.sides import subject
from search_spaces import load, names, resolve
from trials.engines import engine


def command(name: str, concurrency: int) -> str:
    """Return the command line of a shipped space's baseline, as it is in an image."""
    recipe = resolve(load(name), {})
    serve, adapter = recipe.at(concurrency), engine(recipe.target.engine)
    args = (*serve.args, *adapter.layout(serve.layout))
    argv = adapter.argv(args, model=recipe.target.model, host="127.0.0.1", port=1, data_root=None)
    taken = [word for name, value in serve.env.items() if value is None for word in ("-u", name)]
    given = [f"{name}={value}" for name, value in serve.env.items() if value is not None]
    return shlex.join(["env", *taken, *given, *argv])


@pytest.mark.parametrize("name", sorted(set(names()) - {"demo"}))
def test_the_command_line_of_a_space_is_the_space_at_every_concurrency(name: str, tmp_path: Path) -> None:
    space = subject(name, [])
    for point in space.ladder:
        script = tmp_path / f"{point}.sh"
        script.write_text(command(name, point), encoding="utf-8")
        one, other = space.at([point]).served[point], subject(str(script), []).at([point]).served[point]
        assert differences(one, other) == ()


@pytest.mark.parametrize("switch", ["", " --enable-metrics"])
def test_sglangs_counters_are_switched_on_for_every_recipe_and_are_no_difference(switch: str) -> None:
    server = "python3 -m sglang.launch_server --model-path m --tp 4 --kv-cache-dtype auto"
    one = subject(f"{server}{switch}", []).at([None]).served[None]
    other = subject("python3 -m sglang.launch_server --model m --tp-size 4", []).at([None]).served[None]
    assert {each.name: each.by_default for each in differences(one, other)} == {"--kv-cache-dtype": True}
