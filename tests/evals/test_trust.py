"""What a stranger's task file may not say."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from evals.exam import TaskError
from evals.trust import refuse_code

HARMLESS: Mapping[str, object] = {
    "task": "mine",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "data/test.jsonl"}},
    "doc_to_text": "Question: {{question}}\nAnswer:",
    "doc_to_target": "{{answer.split('### ')[-1].rstrip()}}",
    "doc_to_choice": ["{{ choices[0] | trim }}", "{{ choices[1:] | length }}"],
    "metric_list": [{"metric": "exact_match", "regexes_to_ignore": ["(?s).*#### ", "{%"]}],
    "filter_list": [{"name": "strict", "filter": [{"function": "regex", "regex_pattern": "{{([0-9]{2,})"}]}],
}


def test_data_and_plain_templates_are_allowed(tmp_path: Path) -> None:
    refuse_code("task: mine", HARMLESS, tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    "template",
    [
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ question['__class__'] }}",
        "{{ question['__cla' ~ 'ss__'] }}",
        "{{ question[name] }}",
        "{{ question | attr('__class__') }}",
        "{{ [question] | map(attribute='__class__') | list }}",
        "{{ [question] | join(attribute='__class__') }}",
        "{{ '{0.__globals__}'.format(lipsum) }}",
        "{{ question['format'](lipsum) }}",
        "{% include 'other' %}",
        "{% for x in y %}",
    ],
)
def test_a_template_that_reaches_beyond_its_document_is_refused(tmp_path: Path, template: str) -> None:
    with pytest.raises(TaskError, match="doc_to_text: the template"):
        refuse_code("", {**HARMLESS, "doc_to_text": template}, tmp_path / "mine.yaml")


def test_templates_are_found_however_deep(tmp_path: Path) -> None:
    deep = {"fewshot_config": {"samples": [{"question": "{{ a._b }}"}]}}
    with pytest.raises(TaskError, match="fewshot_config"):
        refuse_code("", {**HARMLESS, **deep}, tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class": "x"}, "the key 'class'"),
        ({"include": "other.yaml"}, "the key 'include'"),
        ({"metric_list": [{"metric": "./evil"}]}, "not lm-eval's exact_match"),
        ({"metric_list": [{"metric": "exact_match", "hf_evaluate": True}]}, "not lm-eval's exact_match"),
        ({"metric_list": ["./evil"]}, "not lm-eval's exact_match"),
        ({"dataset_kwargs": {"data_files": {"test": "../secret.jsonl"}}}, "outside the task's folder"),
        ({"dataset_kwargs": {"data_files": {"test": "/etc/passwd"}}}, "outside the task's folder"),
        ({"dataset_kwargs": {"data_files": "https://example.org/x.jsonl"}}, "outside the task's folder"),
        ({"dataset_kwargs": {"data_dir": "/"}}, "may only hold data_files"),
        ({"dataset_kwargs": ["data_dir"]}, "may only hold data_files"),
        ({"dataset_path": "../elsewhere"}, "is a path"),
        ({"dataset_path": "/etc"}, "is a path"),
    ],
)
def test_code_and_foreign_files_are_refused(tmp_path: Path, change: Mapping[str, object], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        refuse_code("", {**HARMLESS, **change}, tmp_path / "mine.yaml")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "test.jsonl").symlink_to("/etc/hostname")
    linked = {"dataset_kwargs": {"data_files": {"test": "test.jsonl"}}}
    with pytest.raises(TaskError, match="outside the task's folder"):
        refuse_code("", {**HARMLESS, **linked}, folder / "mine.yaml")


def test_a_refusal_says_which_file_and_how_to_allow_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    with pytest.raises(TaskError) as refused:
        refuse_code("doc_to_text: !function code.text", HARMLESS, path)
    assert str(refused.value) == (
        f"{path}: names Python code with !function; if you trust its author, allow it with --trust-space"
    )
