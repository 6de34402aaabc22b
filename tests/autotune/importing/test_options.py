"""Arguments by what they say: however they are written, the same content has the same name and value."""

import random
import subprocess
import sys
from collections.abc import Sequence

import pytest

from autotune.importing.options import content, options, served_as, shown, vocabulary
from autotune.importing.shell import Known, Unknown
from search_spaces import SpaceError
from tests.conftest import ROOT


def said(engine: str, *words: str) -> dict[str, str]:
    """Return what the arguments of a server say."""
    return dict(options(engine, [Known(word) for word in words]).settings)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["--block-size=16"], ["--block-size", "16"]),
        (["--kv_cache_dtype", "fp8"], ["--kv-cache-dtype=fp8"]),
        (["-tp", "8"], ["--tensor-parallel-size", "8"]),
        (["-tp=8"], ["--tensor_parallel_size=8"]),
        (["-ep"], ["--enable-expert-parallel"]),
        (["--no-async-scheduling"], ["--async-scheduling", "--no_async_scheduling"]),
        (["-O3"], ["--optimization-level", "3"]),
        (["-O", "3"], ["-O=3"]),
        (["-cc", '{"mode": 3}'], ["--compilation-config.mode", "3"]),
        (["-cc.mode=3", "-cc.cudagraph_mode", "FULL"], ["-cc", '{"cudagraph_mode":"FULL","mode":3}']),
        (["-cc", '{"a":1}', "-cc", '{"b":2}'], ["-cc", '{"b": 2}']),
        (["--compilation_config.pass_config.fuse", "true"], ["-cc", '{"pass_config": {"fuse": true}}']),
        (["--gpu-memory-utilization", "0.90"], ["--gpu-memory-utilization", "0.9"]),
        (["--gpu-memory-utilization", ".9"], ["--gpu-memory-utilization", "0.90"]),
        (["--max-model-len", "16k"], ["--max-model-len", "16000"]),
        (["--max-model-len", "1K"], ["--max-model-len", "1024"]),
        (["--block-size", "1", "--block-size", "16"], ["--block-size", "16"]),
        (["--port", "8000", "--host", "::", "--seed", "1"], ["--seed", "1", "--served-model-name", "a", "b"]),
        (["--lora-modules", "a=b", "c=d"], ["--lora_modules", "a=b", "c=d"]),
        (["--middleware", "a", "--middleware", "b"], ["--seed", "0", "--middleware=a", "--middleware=b"][2:]),
        (["--state-interval", "-1"], ["--state-interval=-1"]),
    ],
)
def test_two_ways_to_write_the_same(one: Sequence[str], other: Sequence[str]) -> None:
    assert said("vllm", *one) == said("vllm", *other) != {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["--block-size", "16"], ["--block-size", "1"]),
        (["--async-scheduling"], ["--no-async-scheduling"]),
        (["--seed", "1"], []),
        (["-cc", '{"a": {"b": 1}}'], ["-cc", '{"a": {"b": 2}}']),
        (["-cc", '{"a": 1}'], ["-cc", '{"a": "1"}']),
        (["--kv-cache-dtype", "fp8"], ["--kv-cache-dtype", "FP8"]),
        (["--max-num-seqs", "1k"], ["--max-num-seqs", "1000"]),
    ],
)
def test_what_differs_differs(one: Sequence[str], other: Sequence[str]) -> None:
    assert said("vllm", *one) != said("vllm", *other)


def test_a_json_object_is_taken_apart() -> None:
    assert said(
        "vllm", "--kv-transfer-config", '{"role": "both", "extra": {"async": true, "sizes": [1, 2]}, "n": {}}'
    ) == {
        "--kv-transfer-config.role": "both",
        "--kv-transfer-config.extra.async": "true",
        "--kv-transfer-config.extra.sizes": "[1, 2]",
        "--kv-transfer-config.n": "{}",
    }


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("vllm", ["org/model", "--seed", "1"]),
        ("vllm", ["--trust-remote-code", "org/model"]),
        ("vllm", ["--model", "org/model"]),
        ("atom", ["--model=org/model"]),
        ("sglang", ["--model-path", "org/model"]),
    ],
)
def test_the_weights_are_no_option(engine: str, words: Sequence[str]) -> None:
    found = options(engine, [Known(word) for word in words])
    assert found.weights == "org/model"
    assert "org/model" not in found.settings.values()


def test_the_name_that_is_served() -> None:
    assert served_as("vllm", [Known("m"), Known("--served-model-name"), Known("name")]) == "name"
    assert served_as("vllm", [Known("m"), Known("--served-model-name"), Unknown("$(x)", "a program")]) is None
    assert served_as("vllm", [Known("m")]) is None


def test_what_is_not_known_stands_as_it_is_written() -> None:
    told = options("vllm", [Known("--seed"), Unknown("$(date)", "a program"), Unknown("--x=$(y)", "a program")])
    assert told.settings == {"--seed": "$(date)", "--x": "$(y)"}


def test_an_engine_that_is_not_known_is_refused() -> None:
    with pytest.raises(SpaceError, match="no engine is called 'other'"):
        vocabulary("other")


@pytest.mark.parametrize(
    "text", ["fp8", "0.9", "16", "true", '{"a": 1}', "[1, 2]", ".5", "a b", "", '"quoted"', "NaN", "1_000"]
)
def test_content_survives_being_shown(text: str) -> None:
    assert shown(content(shown(content(text)))) == shown(content(text))


def test_a_json_bomb_is_a_text() -> None:
    assert content("[" * 200_000) == "[" * 200_000


def test_drawn_arguments_say_the_same_in_any_order_and_form() -> None:
    """The order of different options, and the form of each, are free."""
    chance = random.Random(0)  # noqa: S311 a test's draw
    known = vocabulary("vllm").options
    for _ in range(300):
        names = chance.sample(sorted(known), 6)
        usable = [name for name in names if name not in {*vocabulary("vllm").ours, *vocabulary("vllm").weights}]
        forms = []
        for name in usable:
            if known[name].switch:
                forms.append(chance.choice([[[name], [name.replace("-", "_").replace("__", "--", 1)]]]))
            else:
                short = known[name].short or name
                forms.append([[name, "7"], [f"{name}=7"], [short, "7"], [f"--{name[2:].replace('-', '_')}=7"]])
        one = [word for form in forms for word in form[0]]
        chance.shuffle(forms)
        other = [word for form in forms for word in chance.choice(form)]
        assert said("vllm", *one) == said("vllm", *other), (one, other)


def test_the_table_of_vllm_is_what_its_captured_help_says() -> None:
    program, capture = ROOT / "tests/captures/vllm_options.py", ROOT / "tests/captures/vllm-0.25.1/help-all.txt"
    printed = subprocess.run([sys.executable, str(program), str(capture)], capture_output=True, text=True, check=True)
    assert printed.stdout == (ROOT / "autotune/importing/vllm.yaml").read_text()
    known = vocabulary("vllm")
    assert len(known.options) > 260
    assert known.options["--tensor-parallel-size"].short == "-tp"
    assert known.options["--async-scheduling"].switch
    assert known.options["--max-model-len"].size
    assert known.options["--served-model-name"].several
    assert known.defaults["--gpu-memory-utilization"] == "0.92"
    assert known.defaults["--enable-expert-parallel"] == "false"
    assert "--max-num-seqs" not in known.defaults


@pytest.mark.parametrize("engine", ["atom", "llamacpp", "sglang", "vllm"])
def test_every_vocabulary_names_its_source_and_no_option_twice(engine: str) -> None:
    known = vocabulary(engine)
    names = [name for own, option in known.options.items() for name in (own, option.short, option.long) if name]
    assert known.source
    assert len(names) == len(set(names))
    assert set(known.layout) <= set(known.options)
