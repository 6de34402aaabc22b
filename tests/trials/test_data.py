"""Named files: where they are looked up, and where they are not."""

from pathlib import Path

import pytest

from search_spaces import File, Workload
from trials.data import DataMissing, DataRefused, data_root, locate, substitute, workload_file


def test_files_lie_beside_the_space_or_under_the_data_root(tmp_path: Path) -> None:
    space, root = tmp_path / "space", tmp_path / "root"
    for file in (space / "a", root / "models/b"):
        file.parent.mkdir(parents=True)
        file.touch()
    files = {"x": File(space="a"), "y": File(data="models/b")}
    assert locate(files, space_folder=space, data_root=root) == {"x": space / "a", "y": root / "models/b"}


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (File(data="m", get="copy it"), "root/m does not exist: copy it, or name another folder with --data-root"),
        (File(data="m"), "root/m does not exist: put it there, or name another folder with --data-root"),
        (File(space="m"), "space/m does not exist: put it there"),
    ],
)
def test_a_missing_file_says_where_it_should_be_and_how_to_get_it(file: File, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataMissing) as missed:
        locate({"weights": file}, space_folder=tmp_path / "space", data_root=tmp_path / "root")
    assert str(missed.value) == f"file 'weights': {tmp_path}/{said}"


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


def test_a_workload_of_drawn_lengths_needs_no_file(tmp_path: Path) -> None:
    drawn = Workload(input_tokens=4, output_tokens=3, concurrency=(1,))
    assert workload_file(drawn, space_folder=tmp_path, data_root=tmp_path) is None


def test_a_trace_is_found_beside_its_space_or_missed_with_its_path(tmp_path: Path) -> None:
    listed = Workload.model_validate({"shape": {"kind": "trace", "file": {"space": "trace.jsonl"}}, "concurrency": [2]})
    with pytest.raises(DataMissing, match=r"trace\.jsonl"):
        workload_file(listed, space_folder=tmp_path, data_root=tmp_path)
    (tmp_path / "trace.jsonl").write_text("", encoding="utf-8")
    assert workload_file(listed, space_folder=tmp_path, data_root=tmp_path) == tmp_path / "trace.jsonl"
