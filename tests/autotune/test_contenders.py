"""What a user names becomes something to launch, under one workload and one gate."""

from pathlib import Path

import pytest

from autotune.contenders import Contender, Named, contender
from autotune.folder import study_folder
from search_spaces import SearchSpace, SpaceError, load, recipe_text, resolve
from tests.autotune.comparing import EMULATED
from tests.autotune.studies import settings

COMMAND = "VLLM_ROCM_USE_AITER=1 vllm serve org/model -tp 4 --max-model-len 9472"


@pytest.fixture
def space_file(tmp_path: Path) -> Path:
    """Return the file of a small space."""
    path = tmp_path / "emulated.yaml"
    path.write_text(EMULATED, encoding="utf-8")
    return path


def read(what: Path | str, tmp_path: Path, *, like: SearchSpace | None = None, **named: object) -> Contender:
    """Return what is named, on the emulated engine."""
    told = Named(what=str(what), **named)  # type: ignore[arg-type]  # its fields
    return contender(told, like=like, emulate=True, scratch=tmp_path)


def test_a_space_is_its_baseline_moved_by_its_settings(space_file: Path, tmp_path: Path) -> None:
    found = read(space_file, tmp_path, settings=("kv=fp8",))
    assert found.recipe == resolve(load(space_file), {"kv": "fp8"})
    assert found.name == f"{space_file}, kv=fp8"


def test_the_second_side_gets_the_firsts_workload(space_file: Path, tmp_path: Path) -> None:
    found = read("kimik2.5-mi355x", tmp_path, like=load(space_file), settings=("kv=fp8",))
    assert found.recipe.workload == found.space.workload == load(space_file).workload


def test_a_command_line_is_imported_for_the_firsts_ladder(space_file: Path, tmp_path: Path) -> None:
    found = read(COMMAND, tmp_path, like=load(space_file))
    assert found.imported
    assert found.recipe.target.model == "org/model"
    assert found.recipe.workload == load(space_file).workload
    assert found.recipe.serve.env == {"VLLM_ROCM_USE_AITER": "1"}


def test_a_command_line_alone_has_a_ladder_of_its_own(tmp_path: Path) -> None:
    assert read(COMMAND, tmp_path).recipe.workload.concurrency == (4, 16, 64)


def test_files_that_a_script_writes_lie_beside_it(tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text(
        "cat > config.yaml <<EOF\nasync-scheduling: true\nEOF\nvllm serve m --port 8000 --config config.yaml\n"
    )
    assert read(script, tmp_path).beside == {"config.yaml": "async-scheduling: true\n"}


def test_a_recipe_of_a_shipped_space_has_its_gate(tmp_path: Path) -> None:
    kimi = load("kimik2.5-mi355x")
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe_text(resolve(kimi, {"kv": "fp8"})))
    found = read(path, tmp_path)
    assert (found.recipe, found.space.gates) == (resolve(kimi, {"kv": "fp8"}), kimi.gates)


def test_a_recipe_of_a_study_has_its_studys_space(tmp_path: Path, small: SearchSpace) -> None:
    study = study_folder(tmp_path / "studies", "one")
    study.begin(settings(tmp_path), small, {})
    study.recipe.write_text(recipe_text(resolve(small, {"threads": 3})))
    found = read(study.recipe, tmp_path)
    assert (found.space.gates, found.space.folder) == (small.gates, tmp_path)


def test_a_recipe_whose_space_is_nowhere_is_refused(tmp_path: Path, small: SearchSpace) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe_text(resolve(small, {})))
    with pytest.raises(SpaceError, match="'small' is not shipped: name the recipe"):
        read(path, tmp_path)


def test_a_recipe_with_overrides_serves_no_other_ladder(tmp_path: Path, space_file: Path) -> None:
    kimi = load("kimik2.5-mi355x")
    recipe = resolve(kimi, {})
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe_text(recipe.model_copy(update={"overrides": {16: recipe.serve}})))
    workload = load(space_file).workload.model_copy(update={"concurrency": (4, 7)})
    with pytest.raises(SpaceError, match="does not say how to serve concurrency 7"):
        read(path, tmp_path, like=load(space_file).model_copy(update={"workload": workload}))


def test_a_recipe_has_no_knobs_to_set(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe_text(resolve(load("kimik2.5-mi355x"), {})))
    with pytest.raises(SpaceError, match="a recipe has none"):
        read(path, tmp_path, settings=("kv=fp8",))


def test_an_image_takes_the_place_of_the_spaces(space_file: Path, tmp_path: Path) -> None:
    found = read(space_file, tmp_path, image="emulated:v1?rate=0.9")
    assert found.recipe.target.image == found.space.target.image == "emulated:v1?rate=0.9"


def test_an_image_that_is_not_emulated_can_not_be_rehearsed(space_file: Path, tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="is not emulated: write emulated:TAG"):
        read(space_file, tmp_path, image="vllm/vllm-openai-rocm:v0.18")


def test_a_bare_process_runs_in_no_image(space_file: Path, tmp_path: Path) -> None:
    named = Named(what=str(space_file), image="vllm/vllm-openai-rocm:v0.18")
    with pytest.raises(SpaceError, match="is started without an image"):
        contender(named, like=None, emulate=False, scratch=tmp_path)


def test_what_is_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="no space, no file, and no command line either"):
        read("kimik2.5-mi355", tmp_path)
