"""A study over a flag that the engine takes and ignores: every trial is measured, and the evidence says what ran."""

from tests.fakes.bench import Bench

SAYS = "0.00.399.269 I cmn init: llama threadpool init, n_threads = 1"


def test_a_flag_that_the_engine_ignores_is_told_of_in_the_trial_and_in_the_evidence(bench: Bench) -> None:
    knobs = {"threads": {"flag": "--threads", "choice": [1, 2]}}
    bench.write_space(knobs, {"threads": 1}, flags=("--say", SAYS))
    said = bench.run("study", "fake.yaml", "--dispatcher", "local")
    assert said.returncode == 0, said.stderr
    assert "not in effect: --threads" in said.stdout
    assert bench.outcome_of(threads=1)["mismatches"] == []
    ignored = [{"setting": "--threads", "asked": "2", "effective": "1"}]
    assert bench.outcome_of(threads=2)["mismatches"] == ignored
    assert [trial["outcome"]["mismatches"] for trial in bench.evidence()["trials"]] == [[], ignored]
    assert "## Asked for, and not in effect" in (bench.study / "evidence.md").read_text(encoding="utf-8")
