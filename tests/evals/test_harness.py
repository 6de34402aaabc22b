"""lm-eval's tasks as exams, with lm-eval itself."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import lm_eval.tasks
import pytest

import evals
from evals.exam import Exam, Message, TaskError
from evals.harness import load

SUMS = Path(evals.__file__).parent / "tasks" / "sums"
GSM8K = Path(__file__).parents[3] / "shared" / "data" / "gsm8k"
THEIR_GSM8K = Path(lm_eval.tasks.__file__).parent / "gsm8k" / "gsm8k.yaml"


def write_task(folder: Path, *, rows: int = 20, text: str | None = None) -> Path:
    """Write a task of a user's own beside its data: the first rows of ours, in whatever words."""
    lines = (SUMS / "test.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:rows]
    (folder / "test.jsonl").write_text("".join(lines), encoding="utf-8")
    path = folder / "mine.yaml"
    ours = (SUMS / "sums.yaml").read_text(encoding="utf-8")
    path.write_text(text if text is not None else ours.replace("task: sums", "task: mine"), encoding="utf-8")
    return path


def write_gsm8k(folder: Path, *, documents: int) -> Path:
    """Write lm-eval's own gsm8k with the first documents from a local file."""
    lines = (GSM8K / "test.jsonl").read_text(encoding="utf-8").split("\n")[:documents]
    (folder / "part.jsonl").write_text("\n".join(lines), encoding="utf-8")
    files = {"train": str(GSM8K / "train_head.jsonl"), "test": "part.jsonl"}
    path = folder / "gsm8k-here.yaml"
    path.write_text(
        f"include: {THEIR_GSM8K}\ndataset_path: json\ndataset_name: null\n"
        f"dataset_kwargs: {json.dumps({'data_files': files})}\n",
        encoding="utf-8",
    )
    return path


def test_the_demo_task_asks_every_question_once_and_greedily(sums: Exam, solutions: Mapping[str, str]) -> None:
    assert {request.prompt for request in sums.questions} == set(solutions)
    assert len(sums.questions) == 400
    assert {(each.until, each.max_tokens, each.temperature) for each in sums.questions} == {(("Question:",), 64, 0.0)}


def test_the_order_is_permuted_and_always_the_same(sums: Exam, solutions: Mapping[str, str]) -> None:
    assert [request.prompt for request in sums.questions] != list(solutions)
    assert load("sums", endpoint="completions").questions == sums.questions


@pytest.mark.parametrize(
    ("ending", "strict", "flexible"),
    [
        ("\n#### {}", True, True),
        ("\n#### {}.", True, True),
        ("\n#### {}\n\nQuestion: What is 7 times 6?", True, True),
        ("\n#### {}, or is it 7?", True, False),
        (" so it is {}", False, True),
        (" so it is ${}.", False, True),
        ("\n#### 1{}", False, False),
        ("", False, False),
    ],
)
def test_each_filter_marks_what_it_reads(
    sums: Exam, solutions: Mapping[str, str], ending: str, *, strict: bool, flexible: bool
) -> None:
    answer = solutions[str(sums.questions[7].prompt)].split("#### ")[1]
    assert sums.score(7, f"Let me see{ending.format(answer)}") == {"strict-match": strict, "flexible-extract": flexible}


def test_commas_do_not_count(sums: Exam, solutions: Mapping[str, str]) -> None:
    place = next(
        at for at, each in enumerate(sums.questions) if int(solutions[str(each.prompt)].split("#### ")[1]) >= 1000
    )
    answer = int(solutions[str(sums.questions[place].prompt)].split("#### ")[1])
    assert sums.score(place, f"#### {answer:,}") == {"strict-match": True, "flexible-extract": True}


def test_marks_are_plain_booleans_and_marking_leaves_no_trace(sums: Exam, solutions: Mapping[str, str]) -> None:
    right = solutions[str(sums.questions[0].prompt)]
    before = sums.score(0, right)
    sums.score(0, "#### -1")
    assert sums.score(0, right) == before
    assert all(type(mark) is bool for mark in before.values())


@pytest.mark.parametrize(
    ("text", "complete"),
    [("12 + 30 = 42\n#### 42", True), ("12 + 30 = 42", False), ("", False), ("the the the", False)],
)
def test_an_answer_is_complete_once_every_filter_finds_one(sums: Exam, text: str, *, complete: bool) -> None:
    assert sums.complete(0, text) is complete


def test_the_identity_names_everything_that_makes_results_comparable(sums: Exam) -> None:
    identity = sums.identity
    assert (identity.task, identity.questions) == ("sums", 400)
    assert identity.evaluator.startswith("lm-eval 0.4")
    assert identity.task_sha256 == hashlib.sha256((SUMS / "sums.yaml").read_bytes()).hexdigest()
    assert load("sums", endpoint="completions").identity == identity


def test_a_path_is_a_task_too_and_other_questions_are_another_exam(tmp_path: Path) -> None:
    twenty = load(str(write_task(tmp_path)))
    ten = load(str(write_task(tmp_path, rows=10)))
    assert (twenty.identity.task, len(twenty.questions), len(ten.questions)) == ("mine", 20, 10)
    assert twenty.identity.task_sha256 == ten.identity.task_sha256
    assert twenty.identity.questions_sha256 != ten.identity.questions_sha256


def test_another_expected_answer_is_another_exam(tmp_path: Path) -> None:
    path = write_task(tmp_path)
    before = load(str(path)).identity
    data = tmp_path / "test.jsonl"
    data.write_text(data.read_text(encoding="utf-8").replace("#### ", "#### 1", 1), encoding="utf-8")
    assert load(str(path)).identity.questions_sha256 != before.questions_sha256


def test_the_data_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sums: Exam) -> None:
    monkeypatch.chdir(tmp_path)
    assert load("sums", endpoint="completions").questions == sums.questions


def test_loading_writes_nothing_to_the_terminal_or_the_home(tmp_path: Path) -> None:
    environment = os.environ | {"HOME": str(tmp_path), "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    code = "from evals.harness import load; load('sums')"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert not list(tmp_path.rglob("*.arrow"))


def test_a_hub_out_of_reach_is_one_clear_error_too(tmp_path: Path) -> None:
    """Not half a minute of its client's retries: nobody listens there."""
    environment = os.environ | {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    code = "from evals import harness\ntry: harness.load('gsm8k')\nexcept harness.TaskError as error: print(error)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=20
    )
    assert done.stdout.startswith("task 'gsm8k': its data cannot be had (<urlopen error")


def test_a_chat_asks_the_same_questions_as_messages(sums: Exam) -> None:
    chat = load("sums", endpoint="chat")
    assert [request.prompt for request in chat.questions] == [
        (Message("user", str(request.prompt)),) for request in sums.questions
    ]
    assert (chat.identity.endpoint, sums.identity.endpoint) == ("chat", "completions")
    assert chat.identity.questions_sha256 != sums.identity.questions_sha256


def test_data_of_a_users_own_replace_those_of_the_task(tmp_path: Path) -> None:
    write_task(tmp_path, rows=12)
    exam = load("sums", data={"test": tmp_path / "test.jsonl"})
    assert (exam.identity.task, len(exam.questions)) == ("sums", 12)


def test_data_without_a_split_that_is_needed_are_refused(tmp_path: Path) -> None:
    write_task(tmp_path)
    with pytest.raises(TaskError, match="no data for its split 'train', the examples of the prompts; there is test"):
        load("gsm8k", data={"test": tmp_path / "test.jsonl"})
    with pytest.raises(TaskError, match="no data for its split 'test', the questions; there is tset"):
        load("sums", data={"tset": tmp_path / "test.jsonl"})


def test_data_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"its data cannot be had \(.*none\.jsonl"):
        load("sums", data={"test": tmp_path / "none.jsonl"})


def test_a_data_set_out_of_reach_is_one_clear_error(tmp_path: Path) -> None:
    environment = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    code = "from evals import harness\ntry: harness.load('gsm8k')\nexcept harness.TaskError as error: print(error)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.startswith("task 'gsm8k': its data cannot be had")
    assert "HF_HOME" in done.stdout


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("summs", "did you mean 'sums'"),
        ("no/such", "neither a task's name nor the path"),
        ("missing.yaml", "no such file"),
    ],
)
def test_an_unknown_task_is_refused_with_what_to_do(task: str, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        load(task)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("output_type: generate_until", "output_type: loglikelihood", "needs output_type generate_until"),
        ("task: sums", "group: sums", "a gate needs one task"),
        ("test.jsonl", "absent.jsonl", "its data cannot be had"),
        ("{{question}}", "{{questoin}}", "'questoin' is undefined"),
        ("function: take_first", "function: take_last", "take_last"),
    ],
)
def test_a_task_that_cannot_be_a_gate_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (SUMS / "sums.yaml").read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(TaskError, match=message):
        load(str(write_task(tmp_path, text=text.replace(old, new))))


def test_a_file_that_names_code_is_refused_and_the_code_not_run(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('ran').touch()\ndef text(doc): return doc['question']\n",
        encoding="utf-8",
    )
    ours = (SUMS / "sums.yaml").read_text(encoding="utf-8")
    path = write_task(tmp_path, text=ours.replace('"Question: {{question}}\\nAnswer:"', "!function code.text"))
    with pytest.raises(TaskError, match=r"names Python code with !function; if you trust its author"):
        load(str(path))
    assert not (tmp_path / "ran").exists()
    assert len(load(str(path), trust=True).questions) == 20
    assert (tmp_path / "ran").exists()


@pytest.mark.skipif(not GSM8K.is_dir(), reason=f"needs GSM8K's files in {GSM8K}")
def test_gsm8k_from_local_files_is_a_chat_of_eleven_messages() -> None:
    exam = load("gsm8k", data={"train": GSM8K / "train_head.jsonl", "test": GSM8K / "test.jsonl"})
    assert {len(request.prompt) for request in exam.questions} == {11}
    assert len(exam.questions) == 1319


@pytest.mark.skipif(not GSM8K.is_dir(), reason=f"needs GSM8K's files in {GSM8K}")
def test_gsm8k_of_lm_eval_becomes_an_exam_with_five_shots(tmp_path: Path) -> None:
    """The prompts are those of lm-eval's own task; its sampler is consumed in order, so a part has the whole's."""
    exam = load(str(write_gsm8k(tmp_path, documents=1319)), endpoint="completions", trust=True)
    assert (exam.identity.task, len(exam.questions)) == ("gsm8k", 1319)
    assert exam.filters == ("strict-match", "flexible-extract")
    assert {str(request.prompt).count("Question: ") for request in exam.questions} == {6}
    assert exam.questions[0].until == ("Question:", "</s>", "<|im_end|>")
    part = load(str(write_gsm8k(tmp_path, documents=50)), endpoint="completions", trust=True)
    assert {request.prompt for request in part.questions} < {request.prompt for request in exam.questions}
