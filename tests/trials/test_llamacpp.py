"""llama.cpp's adapter: which program, which words, and the real one where it is installed."""

import hashlib
import re
from pathlib import Path

import pytest

from trials.data import data_root
from trials.engines import EngineNotFound, Failure, Pattern, engine
from trials.engines.adapter import explain
from trials.engines.llamacpp import PATTERNS, fetched_engine, fetched_marker

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests/captures/llamacpp-xllamacpp-2026.10.11549"
LLAMACPP = engine("llamacpp")


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("AUTOTUNE_LLAMA_SERVER", raising=False)
    monkeypatch.setenv("AUTOTUNE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def fetched(root: Path) -> str:
    """Lay out what a finished fetch leaves; return its Python."""
    python = program(fetched_engine(root) / "bin/python")
    fetched_marker(root).write_text('{"name": "xllamacpp", "version": "1.2"}')
    return python


def argv() -> list[str]:
    return LLAMACPP.argv(["-c", "64"], model="m", host="127.0.0.1", port=1234, data_root=data_root())


def test_the_recipes_flags_come_before_ours(nothing_installed: Path) -> None:
    found = program(nothing_installed / "llama-server")
    assert argv() == [found, "-c", "64", "--alias", "m", "--host", "127.0.0.1", "--port", "1234"]


def test_the_demos_engine_wins_over_the_path_and_runs_isolated_from_our_environment(nothing_installed: Path) -> None:
    program(nothing_installed / "llama-server")
    python = fetched(nothing_installed / "data")
    assert argv()[:3] == [python, "-I", str(ROOT / "trials/engines/llama_server.py")]


def test_half_a_fetched_engine_is_passed_over(nothing_installed: Path) -> None:
    found = program(nothing_installed / "llama-server")
    program(fetched_engine(nothing_installed / "data") / "bin/python")
    assert argv()[0] == found


def test_the_version_of_a_fetched_engine_is_its_distributions(nothing_installed: Path) -> None:
    fetched(nothing_installed / "data")
    assert LLAMACPP.version(data_root()) == "xllamacpp 1.2"


def test_the_version_of_another_program_is_its_content(nothing_installed: Path) -> None:
    found = program(nothing_installed / "llama-server")
    digest = hashlib.sha256(Path(found).read_bytes()).hexdigest()
    assert LLAMACPP.version(data_root()) == f"{found} sha256 {digest}"


def test_the_named_program_wins_over_all(nothing_installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(nothing_installed / "llama-server")
    fetched(nothing_installed / "data")
    named = program(nothing_installed / "mine")
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", named)
    assert argv()[0] == named


def test_a_named_program_that_cannot_run_is_not_passed_over(
    nothing_installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(nothing_installed / "llama-server")
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", "/no/such/program")
    with pytest.raises(EngineNotFound, match="AUTOTUNE_LLAMA_SERVER=/no/such/program is no program"):
        argv()


@pytest.mark.usefixtures("nothing_installed")
def test_a_missing_engine_says_how_to_get_it() -> None:
    with pytest.raises(EngineNotFound, match="run `autotune fetch demo`, put llama-server on PATH, or name it"):
        argv()


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(EngineNotFound, match=r"no engine is called 'lama': known are .*llamacpp"):
        engine("lama")


@pytest.mark.parametrize(
    ("capture", "failure"),
    [
        ("v-cache-without-flash", Failure("refused", "quantized V cache requires flash_attn to be enabled")),
        ("unknown-flag", Failure("refused", "llama-server: error: unrecognized arguments: --no-such-flag 3")),
        ("missing-weights", Failure("world", "failed to open GGUF file '<missing>' (No such file or directory)")),
        (
            "missing-adapter",
            Failure("world", "llama_adapter_lora_init: failed to open '<missing>': No such file or directory"),
        ),
        (
            "port-taken",
            Failure("world", "couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 18232"),
        ),
        (
            "kv-cache-too-large",
            Failure("memory", "failed to initialize the context: failed to allocate buffer for kv cache"),
        ),
        ("context-too-large", Failure("memory", "failed to initialize the context: std::bad_alloc")),
    ],
)
def test_a_captured_log_is_explained_in_the_engines_own_words(capture: str, failure: Failure) -> None:
    assert LLAMACPP.explain((CAPTURES / f"{capture}.log").read_text(), 1) == failure


@pytest.mark.parametrize(
    ("capture", "kind", "words"),
    [
        ("bad-cache-type", "refused", "invalid choice: 'q9_9'"),
        ("truncated-weights", "world", "corrupted or incomplete"),
    ],
)
def test_a_captured_log_with_long_words_is_explained_too(capture: str, kind: str, words: str) -> None:
    failure = LLAMACPP.explain((CAPTURES / f"{capture}.log").read_text(), 1)
    assert failure.kind == kind
    assert words in failure.reason


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.regex)
def test_every_pattern_is_found_in_the_source_that_it_names(pattern: Pattern) -> None:
    assert re.search(pattern.regex, (ROOT / pattern.source).read_text())


def test_a_good_start_means_nothing() -> None:
    failure = LLAMACPP.explain((CAPTURES / "good-start.log").read_text(), 0)
    assert failure.kind == "unknown"


def test_a_pattern_without_a_source_is_quoted_but_decides_nothing() -> None:
    assert explain([Pattern("out of memory", "memory", "")], "CUDA: out of memory", 1) == Failure(
        "unknown", "out of memory"
    )


@pytest.mark.parametrize(
    ("log", "returncode", "reason"),
    [
        ("", -9, "killed by signal 9 without a word"),
        ("loading\nready \n\n", -9, "killed by signal 9; its last words: ready"),
        ("oops", 3, "exited with code 3; its last words: oops"),
        ("oops", None, "ended; its last words: oops"),
    ],
)
def test_a_log_without_a_known_line_is_unknown_and_says_how_it_ended(
    log: str, returncode: int | None, reason: str
) -> None:
    assert explain(PATTERNS, log, returncode) == Failure("unknown", reason)
