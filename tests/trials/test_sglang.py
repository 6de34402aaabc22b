"""SGLang's adapter: its command line, and what lines that others have seen mean."""

import pytest

from trials.engines import engine
from trials.engines.asked import mismatches
from trials.engines.sglang import BUILDING, METRICS, PATTERNS, READINGS
from trials.load.counters import Counters, parse

SGLANG = engine("sglang")
START = ["python3", "-m", "sglang.launch_server"]
OURS = ["--served-model-name", "m", "--host", "127.0.0.1", "--port", "1234", "--enable-metrics"]


@pytest.mark.parametrize(
    ("args", "weights"),
    [
        ((), ["--model-path", "m"]),
        (("/weights", "--trust-remote-code"), ["--model-path", "/weights", "--trust-remote-code"]),
        (("--model", "/weights"), ["--model", "/weights"]),
    ],
)
def test_weights_are_always_named_and_ours_come_last(args: tuple[str, ...], weights: list[str]) -> None:
    argv = SGLANG.argv(args, model="m", host="127.0.0.1", port=1234, data_root=None)
    assert argv == [*START, *weights, *OURS]


def test_a_layout_is_a_size_for_each_dimension() -> None:
    assert SGLANG.layout({"tp": 8, "ep": 8}) == ["--tp-size", "8", "--ep-size", "8"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value", "memory"),
        ("RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for", "memory"),
        ("Exception: Capture cuda graph failed: HIP out of memory. Tried to allocate 2.00 GiB", "memory"),
        ("launch_server.py: error: unrecognized arguments: --enable-reasoning", "refused"),
        ("Exception: Capture cuda graph failed: Connection closed by peer", "unknown"),
        ("[2026-03-03 03:53:36] Received sigquit from a child process. It usually means the child failed.", "unknown"),
    ],
)
def test_a_line_has_its_kind_and_is_quoted(line: str, kind: str) -> None:
    failure = SGLANG.explain(f"[2026-03-03 03:53:36] one\n{line}\n", 1)
    assert failure.kind == kind
    assert failure.reason in line


def test_what_it_took_and_what_it_has_room_for_is_read() -> None:
    log = (
        "[2025-11-30 12:50:00] server_args=ServerArgs(model_path='m', mem_fraction_static=0.88, "
        "chunked_prefill_size=-1, max_prefill_tokens=16384, page_size=1, tp_size=8, stream_interval=1)\n"
        "[2025-11-30 12:50:10] Using KV cache dtype: torch.bfloat16\n"
        "[2025-11-30 12:50:10 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 387968, K size: 5.92 GB\n"
        "[2025-11-30 12:50:10] Capture cuda graph bs [1, 2, 4]\n"
        "[2025-11-30 12:50:15] Capture cuda graph end. Time elapsed: 5.37 s. mem usage=1.44 GB.\n"
    )
    assert SGLANG.effective(log) == {
        "mem_fraction_static": "0.88",
        "chunked_prefill_size": "-1",
        "max_prefill_tokens": "16384",
        "page_size": "1",
        "tp_size": "8",
        "kv_cache_dtype": "torch.bfloat16",
        "kv_cache_tokens": "387968",
        "captured_batch_sizes": "[1, 2, 4]",
        "capture_s": "5.37",
    }
    assert SGLANG.effective("nothing") is None


def test_its_counters_are_known_by_name() -> None:
    page = "\n".join(f"# TYPE {name} untyped\n{name} 5" for name in {n for names in METRICS.values() for n in names})
    assert parse(f"{page}\n", SGLANG.metrics) == Counters(
        prompt_tokens=5, generation_tokens=5, prefix_query_tokens=5, prefix_hit_tokens=5, running=5
    )


def test_every_line_has_a_source() -> None:
    assert all(pattern.source for pattern in PATTERNS)
    assert all(line.source for line in BUILDING)
    assert all(reading.source for reading in READINGS.values())


def test_a_cache_of_another_type_than_was_asked_for_is_a_mismatch() -> None:
    took = "server_args=ServerArgs(model_path='m', mem_fraction_static=0.88, chunked_prefill_size=2048, tp_size=8)\n"
    args = ["--tp-size", "8", "--mem-fraction-static=0.880", "--chunked-prefill-size", "16384", "--kv-cache-dtype"]
    for dtype, ignored in (("torch.float8_e4m3fn", ()), ("torch.bfloat16", ("--kv-cache-dtype",))):
        said = f"{took}[2025-11-30 12:50:10] Using KV cache dtype: {dtype}\n"
        found = mismatches(SGLANG, [*args, "fp8_e4m3"], {}, said)
        assert tuple(each.setting for each in found) == ignored
