"""A gate that changes while a study rests: verdicts of two protocols are never held side by side."""

from tests.fakes.bench import SUMS, Bench

UNFIT = 3


def test_a_study_whose_questions_have_changed_is_not_gone_on_with(bench: Bench) -> None:
    lines = SUMS.read_text(encoding="utf-8").splitlines(keepends=True)
    questions = bench.home / "questions.jsonl"
    questions.write_text("".join(lines[:40]), encoding="utf-8")
    bench.write_space(
        {"slow": {"flag": "--token-s", "choice": [0.001, 0.002]}},
        {"slow": 0.001},
        gate={"data": {"test": {"space": questions.name}}},
    )
    assert bench.run("study", "fake.yaml", "--dispatcher", "local", "--trials", "0").returncode == 0
    before = len(list(bench.study.rglob("outcome.json")))
    questions.write_text("".join(lines[40:80]), encoding="utf-8")
    ran = bench.run("resume", "fake")
    assert ran.returncode == UNFIT, ran.stderr
    assert "trials/0000 was judged under another protocol than this environment's: questions_sha256 is " in ran.stderr
    assert "begin a new study with another --name" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert len(list(bench.study.rglob("outcome.json"))) == before
