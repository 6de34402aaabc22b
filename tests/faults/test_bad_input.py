"""Bad input that reads as good YAML: refused at once, with one message, before anything is started or written."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.fakes.bench import Bench

BAD_INPUT, UNFIT = 2, 3
KNOBS = {"slow": {"flag": "--token-s", "choice": [0.001, 0.002]}}
BASELINE = {"slow": 0.001}


@pytest.mark.parametrize(
    ("sections", "code", "said"),
    [
        pytest.param({"budget": {"trials": "many"}}, BAD_INPUT, "fake.yaml: budget.trials: ", id="wrong type"),
        pytest.param(
            {"rules": [{"forbid": {"slow": {"lt": 1}}, "because": "it can't be met"}]},
            BAD_INPUT,
            "it can't be met",
            id="rules that nothing satisfies",
        ),
        pytest.param({"gate": {"task": "./none.yaml"}}, BAD_INPUT, "none.yaml", id="unknown task"),
        pytest.param({"target": {"engine": "vlm"}}, UNFIT, "vlm", id="unknown engine"),
        pytest.param(
            {"target": {"files": {"weights": {"data": "none.gguf"}}}}, UNFIT, "data/none.gguf", id="missing weights"
        ),
    ],
)
def test_a_space_that_cannot_be_run_is_refused_before_anything_is_started(
    bench: Bench, sections: Mapping[str, Any], code: int, said: str
) -> None:
    bench.write_space(KNOBS, BASELINE, **sections)
    ran = bench.run("study", "fake.yaml", "--dispatcher", "local")
    assert ran.returncode == code, ran.stderr
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not bench.study.exists()


def test_a_file_where_the_folder_of_studies_should_be_is_named(bench: Bench) -> None:
    bench.write_space(KNOBS, BASELINE)
    bench.study.parent.write_text("no folder")
    ran = bench.run("study", "fake.yaml", "--dispatcher", "local")
    assert ran.returncode == UNFIT, ran.stderr
    assert "autotune: studies: File exists: that is no folder: name another one with --studies" in ran.stderr
