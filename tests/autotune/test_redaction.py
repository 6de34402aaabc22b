"""Secrets: their values are hidden wherever they stand, and nothing that only looks like one is."""

from dataclasses import dataclass

import pytest

from autotune.redaction import redacted, scrubbed


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("HF_TOKEN=hf_abc vllm serve", "HF_TOKEN=[redacted] vllm serve"),
        ("MY_PASSWORD='two words' x", "MY_PASSWORD='[redacted]' x"),
        ("AWS_SECRET_ACCESS_KEY: abc/def+g=", "AWS_SECRET_ACCESS_KEY: [redacted]"),
        ("AWS_ACCESS_KEY_ID=abc", "AWS_ACCESS_KEY_ID=[redacted]"),
        ("serve --api-key abc --port 3", "serve --api-key [redacted] --port 3"),
        ("serve --api-key=abc --port 3", "serve --api-key=[redacted] --port 3"),
        ("['--hf-token', 'abc', '--port', '1']", "['--hf-token', '[redacted]', '--port', '1']"),
        ("{'api_key': ['abc', 'def'], 'model': 'm'}", "{'api_key': [redacted], 'model': 'm'}"),
        ('{"token": "abc"}', '{"token": "[redacted]"}'),
        ("GET https://host/x?token=abc&page=1", "GET https://host/x?token=[redacted]&page=1"),
        ("https://user:word@host/x and git@host", "https://[redacted]@host/x and git@host"),
        ("https://abc@host/x", "https://[redacted]@host/x"),
        ("Authorization: Bearer abcdefgh", "Authorization: Bearer [redacted]"),
        ("Authorization: Basic YWJjZGVm", "Authorization: Basic [redacted]"),
        ("denied for hf_abcdefghijklmnopqrst.", "denied for [redacted]."),
        ("client_secret: abc", "client_secret: [redacted]"),
    ],
)
def test_the_value_of_a_secret_is_hidden(said: str, left: str) -> None:
    assert redacted(said) == left
    assert redacted(left) == left


@pytest.mark.parametrize(
    "said",
    [
        "max_num_batched_tokens=8192 max_tokens: 5",
        "SGLANG_SIMULATE_ACC_TOKEN_MODE=real-draft-token",
        "serve --tokenizer m --kv-cache-dtype fp8 --num-key-value-heads 8",
        "api_key=None, hf_token=null",
        "unknown key: 'max_num_seq'; no token for 60 s",
        "basic functionality of a bearer",
        "serve --api-key --port 3",
        "sha256:0123456789abcdef",
    ],
)
def test_what_is_no_secret_stays(said: str) -> None:
    assert redacted(said) == said


@dataclass(frozen=True)
class Thing:
    """Something that a study may hold."""

    reason: str
    env: dict[str, str | None]
    args: tuple[str, ...]
    number: int = 1


def test_every_text_of_a_value_is_redacted_and_nothing_else_is_touched() -> None:
    thing = Thing(
        reason="bad HF_TOKEN=abc",
        env={"HF_TOKEN": "abc", "OMP_NUM_THREADS": "1", "OTHER_KEY": None},
        args=("--api-key", "abc", "def", "--port", "3"),
    )
    assert scrubbed([thing]) == [
        Thing(
            reason="bad HF_TOKEN=[redacted]",
            env={"HF_TOKEN": "[redacted]", "OMP_NUM_THREADS": "1", "OTHER_KEY": None},
            args=("--api-key", "[redacted]", "[redacted]", "--port", "3"),
        )
    ]
