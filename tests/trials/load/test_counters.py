"""What servers count themselves: real pages of real engines, and pages over HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from trials.engines import ENGINES, engine
from trials.load.counters import Counters, parse, read

CAPTURES = Path(__file__).parents[2] / "captures"
LLAMACPP = CAPTURES / "llamacpp-xllamacpp-2026.10.11549"
VLLM = CAPTURES / "vllm-0.25.1"
TIMEOUT_S = 10.0


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder without a word."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder's files; yield the URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def page(path: Path) -> str:
    """Return a captured page without the head of its answer."""
    text = path.read_text(encoding="utf-8")
    return text[text.index("# HELP") :]


def llamacpp(name: str) -> Counters:
    counters = parse(page(LLAMACPP / f"{name}.txt"), engine("llamacpp").metrics)
    assert counters
    return counters


def vllm(name: str) -> Counters:
    counters = parse(page(VLLM / f"default-cold.{name}.txt"), engine("vllm").metrics)
    assert counters
    return counters


def test_vllm_counts_every_token_of_its_captured_load() -> None:
    counted = vllm("metrics-after").since(vllm("metrics-before"))
    assert (counted.prompt_tokens, counted.generation_tokens) == (32 * 1024, 64 * 1024)
    assert (counted.prefix_query_tokens, counted.prefix_hit_tokens, counted.hit_share) == (32 * 1024, 0, 0.0)


def test_vllm_says_how_many_requests_run() -> None:
    assert [vllm(f"metrics-{when}").running for when in ("before", "during", "after")] == [0, 32, 0]


def test_llamacpp_counts_cached_tokens_apart_and_they_are_prompt_tokens_all_the_same() -> None:
    second = llamacpp("metrics-after").since(llamacpp("metrics-one"))
    assert second == Counters(
        prompt_tokens=49, generation_tokens=8, prefix_query_tokens=49, prefix_hit_tokens=48, running=0
    )
    assert second.hit_share == pytest.approx(48 / 49)


def test_an_older_llamacpp_that_does_not_count_cached_tokens_says_nothing_of_prompts() -> None:
    older = "\n".join(line for line in page(LLAMACPP / "metrics-after.txt").splitlines() if "cached" not in line)
    assert parse(f"{older}\n", engine("llamacpp").metrics) == Counters(generation_tokens=16, running=0)


def test_the_engines_of_one_server_are_summed() -> None:
    two = 'a_total{engine="0"} 3\na_total{engine="1"} 4\n'
    assert parse(two, {"generation_tokens": ("a_total",)}) == Counters(generation_tokens=7)


def test_a_page_without_any_of_the_names_has_no_counters() -> None:
    assert parse("other 1\n", {"running": ("requests",)}) is None


@pytest.mark.parametrize(("now", "before"), [(None, 3), (3, None), (None, None)])
def test_what_one_end_does_not_know_is_not_known_of_the_stretch(now: int | None, before: int | None) -> None:
    assert Counters(prompt_tokens=now).since(Counters(prompt_tokens=before)).prompt_tokens is None


@pytest.mark.parametrize(("queries", "hits"), [(None, 3), (0, 0), (3, None)])
def test_without_a_lookup_there_is_no_hit_share(queries: int | None, hits: int | None) -> None:
    assert Counters(prefix_query_tokens=queries, prefix_hit_tokens=hits).hit_share is None


@pytest.mark.parametrize("name", ENGINES)
def test_an_adapter_names_fields_that_there_are(name: str) -> None:
    assert set(ENGINES[name].metrics) == set(Counters.__slots__)


def test_counters_are_read_over_http(tmp_path: Path) -> None:
    (tmp_path / "metrics").write_text(page(LLAMACPP / "metrics-one.txt"), encoding="utf-8")
    with serving(tmp_path) as url:
        assert read(url, engine("llamacpp").metrics, timeout_s=TIMEOUT_S) == llamacpp("metrics-one")


@pytest.mark.parametrize("answer", [None, "<html>not metrics</html>", "a{ 3\n"])
def test_a_server_without_readable_counters_has_none(tmp_path: Path, answer: str | None) -> None:
    if answer is not None:
        (tmp_path / "metrics").write_text(answer, encoding="utf-8")
    with serving(tmp_path) as url:
        assert read(url, engine("vllm").metrics, timeout_s=TIMEOUT_S) is None


def test_a_server_that_is_gone_has_no_counters(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        pass
    assert read(url, engine("vllm").metrics, timeout_s=TIMEOUT_S) is None
