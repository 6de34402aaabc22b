"""`--emulate` for what is not emulated: refused before anything is written or launched."""

from pathlib import Path

import pytest

from tests.autotune.comparing import EMULATED
from tests.conftest import Autotune

BAD_INPUT = 2
REFUSED = "can't be rehearsed: the emulated MI355X takes the command line of vllm"


@pytest.mark.parametrize(
    "command",
    [
        ("study", "dsr1-mi355x-sglang"),
        ("compare", "it.yaml", "python3 -m sglang.launch_server --model-path amd/Kimi-K2.5-MXFP4"),
    ],
)
def test_another_engine_or_model_is_refused_at_once(
    autotune: Autotune, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "it.yaml").write_text(EMULATED, encoding="utf-8")
    ran = autotune(*command, "--emulate", cwd=tmp_path, AUTOTUNE_DATA=str(tmp_path / "data"))
    assert ran.returncode == BAD_INPUT, ran.stderr
    assert REFUSED in ran.stderr
    assert "name a space that can be: kimik2.5-mi355x" in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["it.yaml"]


def test_a_reference_that_is_not_emulated_is_refused_too(autotune: Autotune, tmp_path: Path) -> None:
    reference = "reference: {label: ATOM, space: kimik2.5-mi355x-atom}\n"
    (tmp_path / "it.yaml").write_text(EMULATED + reference, encoding="utf-8")
    ran = autotune("study", "it.yaml", "--emulate", cwd=tmp_path)
    assert (ran.returncode, "it: reference.space kimik2.5-mi355x-atom: atom with" in ran.stderr) == (BAD_INPUT, True)


def test_a_space_of_ones_own_for_the_emulated_model_is_not(autotune: Autotune, tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text(EMULATED, encoding="utf-8")
    ran = autotune("command", "it.yaml", "--emulate", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "AUTOTUNE_EMULATED_LANDSCAPE=L0" in ran.stdout
