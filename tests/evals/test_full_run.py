"""Our driver against lm-eval's own full run, both through HTTP against one server: prompts and scores, one by one."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lm_eval
import pytest
import yaml
from lm_eval.tasks import TaskManager

import evals
from evals import Endpoint, Exam, Gate, Request, judge, smell
from evals.harness import load
from tests.fakes.running import running, seen
from trials.load.client import asker

SUMS = Path(evals.__file__).parent / "tasks" / "sums" / "test.jsonl"
DOCUMENTS = 24
GSM8K = Path(__file__).parents[3] / "shared" / "data" / "gsm8k"
GSM8K_SPLITS = {"test": GSM8K / "test.jsonl", "train": GSM8K / "train_head.jsonl"}
MODELS: Mapping[Endpoint, tuple[str, str]] = {
    "completions": ("local-completions", "/v1/completions"),
    "chat": ("local-chat-completions", "/v1/chat/completions"),
}
TASK = """
task: shots
dataset_path: json
dataset_kwargs: {data_files: {train: FOLDER/train.jsonl, test: FOLDER/test.jsonl}}
training_split: train
fewshot_split: train
test_split: test
output_type: generate_until
num_fewshot: 5
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["Question:", "</s>", "<|im_end|>"], do_sample: false, temperature: 0.0, top_p: 1}
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    regexes_to_ignore: [",", "\\\\$", "(?s).*#### ", "\\\\.$"]
filter_list:
  - name: strict-match
    filter: [{function: regex, regex_pattern: "#### (\\\\-?[0-9\\\\.\\\\,]+)"}, {function: take_first}]
  - name: flexible-extract
    filter:
      - {function: regex, group_select: -1, regex_pattern: "(-?[$0-9.,]{2,})|(-?[0-9]+)"}
      - {function: take_first}
"""


def write_task(folder: Path) -> Path:
    """Write a task in GSM8K's form with five examples in each prompt."""
    lines = SUMS.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "test.jsonl").write_text("".join(lines[:DOCUMENTS]), encoding="utf-8")
    (folder / "train.jsonl").write_text("".join(lines[100:140]), encoding="utf-8")
    path = folder / "shots.yaml"
    path.write_text(TASK.replace("FOLDER", str(folder)), encoding="utf-8")
    return path


def write_gsm8k(folder: Path) -> None:
    """Write lm-eval's own GSM8K with our copy of its questions."""
    (source,) = (Path(lm_eval.__file__).parent / "tasks" / "gsm8k").glob("gsm8k.yaml")
    task = yaml.safe_load(source.read_text(encoding="utf-8"))
    data = {split: str(path) for split, path in GSM8K_SPLITS.items()}
    task |= {"dataset_path": "json", "dataset_name": None, "dataset_kwargs": {"data_files": data}}
    (folder / "gsm8k.yaml").write_text(yaml.safe_dump(task), encoding="utf-8")


def said(prompt: str, right: str) -> str:
    """Return one of many kinds of answer, always the same to one question."""
    kinds = (right, right, "#### -1", right.replace("####", "so it is"), f"{right}, or is it 7?", "the the the")
    return kinds[hashlib.sha256(prompt.encode()).digest()[0] % len(kinds)]


def answers(exam: Exam, test: Path, folder: Path) -> Path:
    """Write what the server answers to each question of an exam."""
    rows = [json.loads(line) for line in test.read_text(encoding="utf-8").splitlines()]
    solutions = {f"Question: {row['question']}\nAnswer:": row["answer"] for row in rows}
    texts = [
        question.prompt if isinstance(question.prompt, str) else question.prompt[-1].content
        for question in exam.questions
    ]
    said_to = {text: said(text, solutions[f"Question: {text.rpartition('Question: ')[2]}"]) for text in texts}
    path = folder / "answers.json"
    path.write_text(json.dumps(said_to), encoding="utf-8")
    return path


def by_lm_eval(url: str, task: str, endpoint: Endpoint, folder: Path) -> dict[str, dict[str, bool]]:
    """Let lm-eval ask everything; return by filter and question whether it was right."""
    model, path = MODELS[endpoint]
    chat = endpoint == "chat"
    found = lm_eval.simple_evaluate(
        model,
        model_args={
            "model": "m",
            "base_url": f"{url}{path}",
            "num_concurrent": 4,
            "tokenizer_backend": None,
            "tokenized_requests": False,
            "max_gen_toks": 48,
        },
        tasks=[task],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        apply_chat_template=chat,
        fewshot_as_multiturn=chat,
        bootstrap_iters=0,
    )
    right: dict[str, dict[str, bool]] = {}
    for sample in found["samples"][task]:
        right.setdefault(sample["filter"], {})[sample["doc"]["question"]] = sample["exact_match"] == 1
    return right


def gate_on(exam: Exam, *, threshold: float, early: bool) -> Gate:
    """Return a gate on all questions of an exam."""
    return Gate(
        task=exam.source,
        threshold=threshold,
        filters=exam.filters,
        questions=len(exam.questions),
        smell=min(16, len(exam.questions)),
        endpoint=exam.identity.endpoint,
        max_tokens=48,
        concurrency=4,
        early=early,
    )


def by_us(url: str, exam: Exam) -> dict[str, dict[str, bool]]:
    """Ask everything through our driver; return the same."""
    verdict, scored = judge(asker(url, "m", timeout_s=30), gate_on(exam, threshold=0.01, early=False), exam)
    assert verdict.asked == len(exam.questions)
    return {name: {asked_in(exam.questions[one.index]): one.correct[name] for one in scored} for name in exam.filters}


def early_by_us(url: str, exam: Exam) -> None:
    """Judge as in a search, the first questions first: the sequential gate ends before it has asked everything."""
    gate, ask = gate_on(exam, threshold=0.9, early=True), asker(url, "m", timeout_s=30)
    verdict, _ = judge(ask, gate, exam, asked=smell(ask, gate, exam))
    assert verdict.asked < len(exam.questions), verdict


def asked_in(request: Request) -> str:
    """Return the question itself, the last of a prompt."""
    text = request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content
    return text.rpartition("Question: ")[2].removesuffix("\nAnswer:")


def in_order(bodies: list[dict[str, Any]]) -> list[str]:
    """Return requests as text, sorted: the two ask in different orders."""
    return sorted(json.dumps(body, sort_keys=True) for body in bodies)


def compare(task: str, exam: Exam, endpoint: Endpoint, test: Path, folder: Path) -> None:
    """Have both ask and score everything; what they sent and found must be the same."""
    with running("--answers", str(answers(exam, test, folder))) as url:
        theirs = by_lm_eval(url, task, endpoint, folder)
        first = seen(url).completions
        ours = by_us(url, exam)
        second = seen(url).completions[len(first) :]
        early_by_us(url, exam)
        early = seen(url).completions[len(first) + len(second) :]
    assert len(first) == len(exam.questions)
    assert in_order(second) == in_order(first)
    assert 0 < len(early) < len(first)
    assert set(in_order(early)) < set(in_order(first))
    assert ours == theirs
    assert {len(marks) for marks in ours.values()} == {len(exam.questions)}
    assert {len(set(marks.values())) for marks in ours.values()} == {2}
    assert ours["strict-match"] != ours["flexible-extract"]


@pytest.mark.filterwarnings("ignore")  # lm-eval's own
@pytest.mark.parametrize("endpoint", MODELS)
def test_requests_and_scores_are_those_of_lm_evals_own_full_run(endpoint: Endpoint, tmp_path: Path) -> None:
    splits = {split: tmp_path / f"{split}.jsonl" for split in ("train", "test")}
    exam = load(str(write_task(tmp_path)), endpoint=endpoint, data=splits)
    assert len(exam.questions) == DOCUMENTS
    compare("shots", exam, endpoint, splits["test"], tmp_path)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # lm-eval's own
@pytest.mark.skipif(not GSM8K.is_dir(), reason="GSM8K's questions are not here")
@pytest.mark.parametrize("endpoint", MODELS)
def test_the_same_holds_for_each_of_gsm8ks_1319_questions(endpoint: Endpoint, tmp_path: Path) -> None:
    write_gsm8k(tmp_path)
    exam = load("gsm8k", endpoint=endpoint, data=GSM8K_SPLITS)
    assert len(exam.questions) == 1319
    compare("gsm8k", exam, endpoint, GSM8K_SPLITS["test"], tmp_path)


@pytest.mark.parametrize("endpoint", MODELS)
def test_a_short_run_asks_what_the_full_run_asks_first(endpoint: Endpoint, tmp_path: Path) -> None:
    exam = load(
        str(write_task(tmp_path)), endpoint=endpoint, data={s: tmp_path / f"{s}.jsonl" for s in ("train", "test")}
    )
    gate = Gate(task=exam.source, threshold=0.9, filters=exam.filters, questions=10, smell=0, endpoint=endpoint)
    with running("--answer-all", "#### 1") as url:
        judge(asker(url, "m", timeout_s=30), gate, exam)
        sent = [body.get("prompt") or body["messages"] for body in seen(url).completions]
    assert all(one in [_as_sent(question) for question in exam.questions[:10]] for one in sent)
    assert sent


def _as_sent(question: Request) -> object:
    prompt = question.prompt
    return prompt if isinstance(prompt, str) else [{"role": one.role, "content": one.content} for one in prompt]
