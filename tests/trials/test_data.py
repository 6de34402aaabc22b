"""Named files: where they are looked up, and where they are not."""

from pathlib import Path

import pytest

from search_spaces import File
from trials.data import DataMissing, DataRefused, data_root, locate, substitute


def test_files_lie_beside_the_space_or_under_the_data_root(tmp_path: Path) -> None:
    space, root = tmp_path / "space", tmp_path / "root"
    for file in (space / "a", root / "models/b"):
        file.parent.mkdir(parents=True)
        file.touch()
    files = {"x": File(space="a"), "y": File(data="models/b")}
    assert locate(files, space_folder=space, data_root=root) == {"x": space / "a", "y": root / "models/b"}


def test_a_missing_file_says_where_it_should_be_and_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=rf"'weights': {tmp_path}/m\.gguf does not exist: run `autotune fetch demo`"):
        locate({"weights": File(data="m.gguf")}, space_folder=tmp_path / "space", data_root=tmp_path)


def test_references_become_paths() -> None:
    files = {"weights": Path("/data/my weights"), "lora": Path("/data/a")}
    assert substitute(("-m", "${weights}", "--lora-scaled=${lora}:0.5"), files) == (
        "-m",
        "/data/my weights",
        "--lora-scaled=/data/a:0.5",
    )


def test_a_reference_to_an_unlisted_file_is_refused_with_those_listed() -> None:
    with pytest.raises(DataRefused, match=r"\$\{wieghts\} names no file of the target; it lists: weights"):
        substitute(("${wieghts}",), {"weights": Path("/data/w")})


def test_the_data_root_is_the_variables_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOTUNE_DATA", str(tmp_path))
    assert data_root() == tmp_path


def test_the_data_root_is_the_users_own_without_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUTOTUNE_DATA", raising=False)
    assert data_root().name == "autotune"
