"""The emulated engine as a program: started like vLLM, asked like vLLM, ended like vLLM."""

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.emulated import MODEL, QUIET, Emulated, running, spelled, start
from trials.engines.emulated import log
from trials.engines.emulated.adapter import Emulated as Adapter
from trials.engines.emulated.landscape import load
from trials.engines.vllm import Vllm, read
from trials.load import counters
from trials.load.client import RequestFailed, complete, keeps_a_clock, reported_models, served_context
from trials.load.stream import read as read_stream

CAPTURES = Path(__file__).parents[2] / "captures" / "vllm-0.25.1"
BASE = load("L0").baseline
LIMIT_S = 20.0


def failed(options: tuple[str, ...] = QUIET, **changes: Any) -> tuple[int, str]:  # noqa: ANN401 a config's values
    """Return the exit code and the log of a start with a changed baseline."""
    flags, env = spelled(BASE._replace(**changes))
    return start(flags, env, options).ended()


def asked(emulated: Emulated, path: str, body: object) -> httpx.Response:
    """Post something."""
    return httpx.post(f"{emulated.url}{path}", json=body, timeout=LIMIT_S)


@pytest.fixture(scope="module")
def emulated() -> Any:  # noqa: ANN401 a fixture's generator
    """Run the baseline with a context of 9,472 tokens."""
    flags, env = spelled(BASE)
    with running((*flags, "--max-model-len", "9472"), env) as one:
        yield one


def test_it_looks_like_a_server_of_vllm(emulated: Emulated) -> None:
    assert reported_models(emulated.url, timeout_s=LIMIT_S) == (MODEL,)
    assert served_context(emulated.url, MODEL, timeout_s=LIMIT_S) == 9472
    assert httpx.get(f"{emulated.url}/health").status_code == 200
    assert httpx.get(f"{emulated.url}/nothing").json() == {"detail": "Not Found"}
    answer = complete(emulated.url, MODEL, "one two three", max_tokens=4, timeout_s=LIMIT_S, ignore_eos=True)
    assert (answer.prompt_tokens, answer.completion_tokens, answer.finish_reason) == (3, 4, "length")


def test_everything_it_says_is_declared_emulated(emulated: Emulated) -> None:
    for path in ("/v1/models", "/version", "/emulated"):
        assert httpx.get(f"{emulated.url}{path}").json()["emulated"] is True
    body = {"model": MODEL, "prompt": [1, 2], "max_tokens": 3, "ignore_eos": True}
    assert asked(emulated, "/v1/completions", body).json()["emulated"] is True
    streamed = asked(emulated, "/v1/completions", {**body, "stream": True}).text
    assert streamed.count("data: {") == streamed.count('"emulated":true')
    assert keeps_a_clock(emulated.url, timeout_s=LIMIT_S)


def test_it_says_what_runs_and_how_long_it_has_been_virtually(emulated: Emulated) -> None:
    before = httpx.get(f"{emulated.url}/emulated").json()
    assert before["landscape"] == "L0"
    assert before["config"]["kv"] == "auto"
    assert before["virtual_s"] > 60 * 8
    complete(emulated.url, MODEL, "one two three", max_tokens=1000, timeout_s=LIMIT_S, ignore_eos=True)
    assert httpx.get(f"{emulated.url}/emulated").json()["virtual_s"] > before["virtual_s"] + 10


def test_a_stream_has_the_form_of_the_captured_one(emulated: Emulated) -> None:
    for path, said in (("/v1/completions", {"prompt": "a b"}), ("/v1/chat/completions", {"messages": []})):
        body = {"model": MODEL, **said, "max_tokens": 70, "ignore_eos": True, "stream": True}
        response = asked(emulated, path, {**body, "stream_options": {"include_usage": True}})
        raw = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(response.content) + response.content
        streamed = read_stream([(1, raw)], stamped=True)
        assert (streamed.completion_tokens, streamed.chunks, streamed.finish_reason) == (70, 3, "length")
        assert streamed.error is None
        assert response.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"prompt": list(range(9000)), "max_tokens": 500}, "error-sum-over-context"),
        ({"prompt": "x", "max_tokens": 9500}, "error-max-tokens"),
        ({"prompt": [10**8], "max_tokens": 4}, "error-bad-token-id"),
        ({"prompt": "x", "max_tokens": "many"}, "error-bad-type"),
        ({"prompt": "x", "model": "nobody"}, "error-unknown-model"),
    ],
)
def test_what_vllm_refuses_over_http_is_refused_alike(emulated: Emulated, body: dict[str, Any], name: str) -> None:
    response = asked(emulated, "/v1/completions", {"model": MODEL, **body})
    status, _, rest = (CAPTURES / f"default-cold.{name}.http").read_text().partition("\n")
    real = json.loads(rest.partition("\n\n")[2])["error"]
    ours = response.json()["error"]
    assert f"HTTP {response.status_code}" == status.rpartition(" ")[0][:8]
    assert {key: ours[key] for key in ("type", "param", "code")} == {
        key: real[key] for key in ("type", "param", "code")
    }
    assert ours["message"].split()[:4] == real["message"].split()[:4] or ours["param"] == "max_tokens"


def test_a_body_that_is_no_json_is_refused(emulated: Emulated) -> None:
    for path in ("/v1/completions", "/emulated/leave"):
        response = httpx.post(f"{emulated.url}{path}", content=b'{"prompt": [1, 2')
        assert response.status_code == 400
        assert "JSON decode error" in response.json()["error"]["message"]
    assert asked(emulated, "/emulated/leave", {"run": "r", "slot": 3, "slots": 2}).status_code == 400


def test_its_counters_are_read_by_vllms_names(emulated: Emulated) -> None:
    before = counters.read(emulated.url, Vllm.metrics, timeout_s=LIMIT_S)
    complete(emulated.url, MODEL, "a b c", max_tokens=7, timeout_s=LIMIT_S, ignore_eos=True)
    after = counters.read(emulated.url, Vllm.metrics, timeout_s=LIMIT_S)
    assert before is not None
    assert after is not None
    counted = after.since(before)
    assert (counted.prompt_tokens, counted.generation_tokens, counted.running) == (3, 7, 0)
    assert counted.prefix_hit_tokens == 0


def test_questions_are_answered_the_same_in_any_order_and_from_many_at_once(tmp_path: Path) -> None:
    rows = [{"question": f"How much is {n} and {n}?", "answer": f"Twice.\n#### {2 * n}"} for n in range(60)]
    path = tmp_path / "solutions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags, env = spelled(BASE._replace(qr="INT4"))
    with running(flags, {**env, "AUTOTUNE_EMULATED_ANSWERS": str(path)}) as one:

        def ask(row: dict[str, str]) -> str:
            prompt = f"Question: {row['question']}\nAnswer:"
            return complete(one.url, MODEL, prompt, max_tokens=99, timeout_s=LIMIT_S).text

        forwards = [ask(row) for row in rows]
        with ThreadPoolExecutor(8) as pool:
            backwards = list(pool.map(ask, reversed(rows)))
    assert forwards == backwards[::-1]
    right = sum(said == row["answer"] for said, row in zip(forwards, rows, strict=True))
    assert 45 < right < 60


def test_the_log_of_a_start_reads_like_vllms() -> None:
    flags, env = spelled(BASE._replace(kv="fp8", cg="FULL_AND_PIECEWISE", async_=1))
    with running((*flags, "--max-model-len", "9472"), env) as one:
        one.process.terminate()
        code, text = one.ended()
    assert code == 0
    effective = read(text)
    assert effective.version == "0.25.1"
    assert (effective.max_model_len, effective.max_num_batched_tokens) == (9472, 8192)
    assert (effective.kv_cache_dtype, effective.cudagraph_mode) == ("fp8", "FULL_AND_PIECEWISE")
    assert effective.captured_graphs == ("FULL", "PIECEWISE")
    assert effective.async_scheduling is True
    assert effective.kv_cache_tokens == pytest.approx(2.7e6, rel=0.02)
    assert text.startswith(log.MARK)
    assert log.virtual_s(text.splitlines()) is not None


@pytest.mark.parametrize(
    ("changes", "kind", "seconds"),
    [
        ({"tp": 2}, "memory", 300.0),
        ({"gmu": 0.6}, "memory", 300.0),
        ({"ep": 1, "fse": 1}, "unknown", 240.0),
        ({"sort": "opus", "fse": 1}, "stuck", 2400.0),
    ],
)
def test_a_start_that_fails_ends_at_once_and_says_how_long_it_was(
    changes: dict[str, Any], kind: str, seconds: float
) -> None:
    code, text = failed(**changes)
    assert code == 1
    failure = Adapter().explain(text, code)
    assert failure.kind == kind
    assert failure.reason.startswith("EMULATED: ")
    assert log.virtual_s(text.splitlines()) == seconds


def test_a_context_that_the_kv_cache_cannot_hold_fails_like_the_real_one() -> None:
    code, text = failed(gmu=0.61, tp=4)
    assert Adapter().explain(text, code).kind == "memory"
    assert "To serve at least one request with the model's max seq len (262144)" in text


def test_a_flag_that_is_refused_ends_it_with_vllms_exit_code() -> None:
    code, text = start(["--no-such-flag"], {}, QUIET).ended()
    assert code == 2
    assert Adapter().explain(text, code).kind == "refused"
    assert log.virtual_s(text.splitlines()) is not None


def test_every_launch_may_fail_by_chance() -> None:
    code, text = failed(options=("--noise", "0", "--flaky", "1", "--seed", "1"))
    assert code == 1
    assert Adapter().explain(text, code).kind == "unknown"


def test_an_engine_that_runs_out_of_memory_under_load_says_so_and_ends() -> None:
    flags, env = spelled(BASE._replace(gmu=0.95, mns=1024, mnbt=65536, qr="INT8", cg="FULL_AND_PIECEWISE"))
    with running(flags, env) as one:
        place, arrival_ns = {"run": "r", "slot": 0, "slots": 1}, 0
        body = {"model": MODEL, "prompt": list(range(8192)), "max_tokens": 1024, "ignore_eos": True}
        while True:
            said = asked(one, "/v1/completions", {**body, "emulated": {**place, "arrival_ns": arrival_ns}})
            if said.is_error:
                break
            arrival_ns = said.json()["emulated_ns"]
        assert said.status_code == 500
        assert "EngineCore encountered an issue" in said.text
        code, text = one.ended()
    assert code == 1
    failure = Adapter().explain(text, code)
    assert failure.kind == "memory"
    assert failure.reason.endswith("under load")


def test_a_taken_port_is_the_worlds_fault() -> None:
    flags, env = spelled(BASE)
    with socket.create_server(("127.0.0.1", 0)) as door:
        code, text = start(flags, env, QUIET, port=door.getsockname()[1]).ended()
    assert code == 1
    assert Adapter().explain(text, code).kind == "world"


def test_the_paced_server_streams_on_the_wall_clock() -> None:
    flags, env = spelled(BASE)
    with running(flags, env, (*QUIET, "--paced", "50")) as one:
        assert not keeps_a_clock(one.url, timeout_s=LIMIT_S)
        body = {"model": MODEL, "prompt": [1, 2, 3], "max_tokens": 200, "ignore_eos": True, "stream": True}
        with httpx.stream("POST", f"{one.url}/v1/completions", json=body, timeout=LIMIT_S) as response:
            pieces = list(response.iter_raw())
        said = b"".join(pieces)
        assert len(pieces) > 3
        assert said.count(b" tok") == 200
        assert b"emulated_ns" not in said
        question = complete(one.url, MODEL, "Why?", max_tokens=9, timeout_s=LIMIT_S)
        assert question.text.startswith("#### ")


def test_the_adapter_starts_it_from_anywhere(tmp_path: Path) -> None:
    argv = Adapter().argv(["--no-such-flag"], model="kimi", host="127.0.0.1", port=1, data_root=None)
    assert os.access(argv[0], os.X_OK)
    assert argv[1:2] == ["-P"]
    assert argv[3:] == ["serve", "kimi", "--no-such-flag", *argv[6:]]
    assert "EMULATED" in Adapter().version(tmp_path)


def test_a_question_without_a_file_of_solutions_gets_a_number(emulated: Emulated) -> None:
    with pytest.raises(RequestFailed):
        complete(emulated.url, "nobody", "Why?", max_tokens=9, timeout_s=LIMIT_S)
    assert complete(emulated.url, MODEL, "Why?", max_tokens=9, timeout_s=LIMIT_S).text.startswith("#### ")
