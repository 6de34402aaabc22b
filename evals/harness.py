"""lm-eval's tasks as exams: every request built once, answers marked by lm-eval's own filters and metric.

The only door to lm-eval. Its few-shot sampler is consumed in the data set's order, so the requests of all documents are
built before any is sent; the permutation, early stops and samples then slice that one list.
"""

import contextlib
import difflib
import hashlib
import io
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets  # type: ignore[import-untyped]  # it ships no types; lm-eval's task needs its Dataset
import lm_eval.tasks
from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask
from lm_eval.defaults import DEFAULT_MAX_GEN_TOKS, DEFAULT_OTHER_SEED
from lm_eval.tasks._yaml_loader import load_yaml

from evals.exam import Endpoint, Exam, Identity, Message, Request, TaskError
from evals.hub import cached_first
from evals.trust import refuse_code

TASKS = Path(__file__).parent / "tasks"
THEIR_TASKS = Path(lm_eval.tasks.__file__).parent
METRIC = "exact_match"
NAME = re.compile(r"[\w.-]+")
ORDER = "gate-order-1"
"""Seed of every task's permutation; changing it makes results incomparable with earlier ones."""
REQUEST_SEED = 1234
"""What lm-eval's models for an API send as `seed`."""
CHAT_STOPS = 4
"""So many stop texts does lm-eval send to a chat endpoint, and OpenAI's API take."""
NOT_SENT = frozenset({"until", "do_sample", "max_gen_toks", "max_tokens", "temperature"})
"""Settings of a generation that have a field of their own, or that no API knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LmEvalExam:
    """An lm-eval task, its documents in the order in which they are asked."""

    source: str
    identity: Identity
    filters: tuple[str, ...]
    questions: tuple[Request, ...]
    task: ConfigurableTask
    instances: tuple[Instance, ...]

    def score(self, index: int, text: str) -> Mapping[str, bool]:
        """Mark an answer as lm-eval would."""
        until = self.questions[index].until
        return _marks(self.task, self.instances[index], _cut(text, until))

    def solution(self, index: int) -> tuple[str, str]:
        """Return a question and its target, both as the task's templates write them."""
        doc = self.instances[index].doc
        return str(self.task.doc_to_text(doc)), str(self.task.doc_to_target(doc))

    def complete(self, index: int, text: str) -> bool:
        """Say whether every filter finds an answer in `text`.

        A filter finds nothing where it returns what it returns for an empty text, or the text as it is.
        """
        text = _cut(text, self.questions[index].until)
        found = _readings(self.task, self.instances[index], text)
        nothing = _readings(self.task, self.instances[index], "")
        return all(found[name] not in (nothing[name], text) for name in found)


def load(
    task: str, *, endpoint: Endpoint = "chat", data: Mapping[str, str | Path] | None = None, trust: bool = False
) -> Exam:
    """
    Load a task and build all its requests: one of ours or of lm-eval's by name, or a YAML file by its path.

    Args:
        endpoint: For `chat` the examples are turns of a conversation, as lm-eval's `--apply_chat_template` sends them.
        data: Files of JSON lines to take instead of the task's own data set, by split.
        trust: A file given by its path may run code: functions, includes, any template, any metric.

    Raises:
        TaskError: No such task, data that cannot be had, or a task that cannot be a gate.
    """
    with _quiet(), _translated(task):
        path = _find(task)
        config = _config(path, data or {}, trusted=trust or path.is_relative_to(THEIR_TASKS))
        built = cached_first(lambda: ConfigurableTask(config=dict(config)))
        built.set_fewshot_seed(DEFAULT_OTHER_SEED)  # as lm-eval's own evaluator does
        chat = endpoint == "chat"
        built.build_all_requests(
            apply_chat_template=chat, fewshot_as_multiturn=chat, chat_template=_messages_as_text if chat else None
        )
        return _exam(built, path, task, endpoint)


def _messages_as_text(messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool = True) -> str:  # noqa: ARG001
    """Pass the messages on as JSON, as lm-eval's chat models do: the server applies its own template."""
    return json.dumps(messages, ensure_ascii=False)


def _find(task: str) -> Path:
    """Return the file of a task."""
    if task.endswith((".yaml", ".yml")):
        path = Path(task).resolve()
        if not path.is_file():
            raise TaskError(f"task {task!r}: no such file")
        return path
    if not NAME.fullmatch(task):
        raise TaskError(f"task {task!r}: neither a task's name nor the path of a .yaml file")
    for folder in (TASKS, THEIR_TASKS):
        if (path := folder / task / f"{task}.yaml").is_file():
            return path
    return _search(task)


def _search(task: str) -> Path:
    """Look through all of lm-eval's task files, which takes seconds."""
    paths = {name: entry.yaml_path for name, entry in lm_eval.tasks.TaskManager().task_index.items()}
    if (path := paths.get(task)) is not None:
        return Path(path)
    near = difflib.get_close_matches(task, [path.name for path in TASKS.iterdir()] + sorted(paths), n=1)
    raise TaskError(f"task {task!r}: lm-eval has no such task" + (f"; did you mean {near[0]!r}?" if near else ""))


def _config(path: Path, data: Mapping[str, str | Path], *, trusted: bool) -> dict[str, Any]:
    """Read a task file, its JSON lines beside it or given included; functions are resolved in trusted files only."""
    config: dict[str, Any] = load_yaml(path, resolve_func=trusted, recursive=trusted)
    if not trusted:
        refuse_code(path.read_text(encoding="utf-8"), config, path)
    if not isinstance(config.get("task"), str) or "class" in config:
        raise TaskError(f"{path}: a group, or a task written in Python; a gate needs one task")
    files = (config.get("dataset_kwargs") or {}).get("data_files")
    beside = files if config.get("dataset_path") == "json" and isinstance(files, dict) else {}
    if given := dict(data) or {split: path.parent / file for split, file in beside.items()}:
        splits = {split: _rows(Path(file)) for split, file in given.items()}
        _needs(config, splits)
        config |= {"custom_dataset": lambda **_: splits, "dataset_kwargs": None}
    return {key: value for key, value in config.items() if key not in {"tag", "group", "task_list"}}


def _needs(config: Mapping[str, Any], splits: Mapping[str, object]) -> None:
    """Refuse data that lack the split of the questions, or that of the examples."""
    asked = config.get("test_split") or config.get("validation_split")
    shown = config.get("fewshot_split") if config.get("num_fewshot") else None
    for split, what in ((asked, "questions"), (shown, "examples of the prompts")):
        if split is not None and split not in splits:
            raise TaskError(
                f"task {config['task']!r}: no data for its split {split!r}, the {what}; there is {', '.join(splits)}"
            )


def _rows(path: Path) -> datasets.Dataset:
    """Read JSON lines without a cache and without the network, both of which `load_dataset` would touch."""
    return datasets.Dataset.from_list(
        [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    )


def _exam(task: ConfigurableTask, path: Path, source: str, endpoint: Endpoint) -> Exam:
    """Permute what was built, and say what it is."""
    name = task.config.task
    if task.OUTPUT_TYPE != "generate_until" or task.config.repeats != 1:
        raise TaskError(f"task {name!r}: a gate needs output_type generate_until and repeats 1")
    if METRIC not in task.process_results(task.instances[0].doc, [""]):
        raise TaskError(f"task {name!r}: a gate needs the metric {METRIC}")
    requests = [_request(each, endpoint) for each in task.instances]
    targets = [task.doc_to_target(each.doc) for each in task.instances]
    questions = json.dumps([(*astuple(request), target) for request, target in zip(requests, targets, strict=True)])
    order = _permutation(name, len(requests))
    return LmEvalExam(
        source=source,
        identity=Identity(
            task=name,
            evaluator=f"lm-eval {version('lm_eval')}",
            endpoint=endpoint,
            task_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            questions_sha256=hashlib.sha256(questions.encode()).hexdigest(),
            questions=len(requests),
            order=ORDER,
            fewshot_seed=DEFAULT_OTHER_SEED,
        ),
        filters=tuple(_readings(task, task.instances[0], "")),
        questions=tuple(requests[place] for place in order),
        task=task,
        instances=tuple(task.instances[place] for place in order),
    )


def _permutation(name: str, count: int) -> list[int]:
    """Return a fixed random order: by digest, so that it depends on no library's generator."""
    return sorted(range(count), key=lambda place: hashlib.sha256(f"{ORDER} {name} {place}".encode()).digest())


def _request(instance: Instance, endpoint: Endpoint) -> Request:
    """Translate lm-eval's arguments of one generation, as its own models for an API do."""
    prompt, generation = instance.args
    until = generation["until"]
    stops = (until,) if isinstance(until, str) else tuple(until)
    chat = endpoint == "chat"
    return Request(
        prompt=tuple(Message(each["role"], each["content"]) for each in json.loads(prompt)) if chat else prompt,
        until=stops[:CHAT_STOPS] if chat else stops,
        max_tokens=generation.get("max_gen_toks", DEFAULT_MAX_GEN_TOKS),
        temperature=generation.get("temperature", 0.0),
        seed=REQUEST_SEED,
        extra=tuple((name, value) for name, value in generation.items() if name not in NOT_SENT),
    )


def _cut(text: str, until: tuple[str, ...]) -> str:
    """End an answer where an engine that returns its stop texts should have ended it."""
    return min((text.partition(stop)[0] for stop in until if stop), key=len, default=text)


def _readings(task: ConfigurableTask, instance: Instance, text: str) -> dict[str, Any]:
    """Return what each filter reads in an answer; the instance itself is left as it is."""
    answered = replace(instance, resps=[text], filtered_resps={})
    for each in task._filters:  # noqa: SLF001 - apply_filters would mark every instance, and keep it
        each.apply([answered])
    return dict(answered.filtered_resps)


def _marks(task: ConfigurableTask, instance: Instance, text: str) -> dict[str, bool]:
    """Mark each filter's reading with the task's metric."""
    readings = _readings(task, instance, text)
    return {name: bool(task.process_results(instance.doc, [read])[METRIC] == 1) for name, read in readings.items()}


@contextlib.contextmanager
def _translated(task: str) -> Iterator[None]:
    """Message whatever lm-eval and the data set's library raise into one TaskError."""
    try:
        yield
    except TaskError:
        raise
    except OSError as error:
        raise TaskError(
            f"task {task!r}: its data cannot be had ({error}); load it once on a machine with a network, which fills "
            f"the Hugging Face cache (HF_HOME), or write a task file with its data beside it"
        ) from error
    except Exception as error:
        raise TaskError(f"task {task!r}: lm-eval cannot load it ({type(error).__name__}: {error})") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep progress bars, remarks and retries from the terminal while a task is loaded.

    Standard error belongs to the whole process: what another thread writes to it meanwhile is lost.
    """
    loggers = [logging.getLogger(name) for name in ("lm_eval", "datasets", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
