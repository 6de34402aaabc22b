"""What is secret stays here: one place hides the values of tokens, keys and passwords in all that leaves a study."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

HIDDEN = "[redacted]"

Value = TypeVar("Value")

_LAST = r"(?:token|api_?key|key|secret|password|passwd|passphrase|credentials?)"
_COMPOUND = rf"(?:[a-z0-9]+[_-])+{_LAST}(?:[_-]id)?|[\w-]*(?:secret|password)[\w-]*|api_?key"
_ANY = rf"(?:{_COMPOUND}|{_LAST})"
_VALUE = (
    r"(?!(?:none|null|true|false)\b|\[redacted\])"
    r"(?:(?<=')[^']+|(?<=\")[^\"]+|\[[^\]]*\]|[^\s\"',;&\[\]{}()<>]+)"
)
_KNOWN = (
    r"hf_\w{16,}|sk-[\w-]{16,}|gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
    r"|nvapi-[\w-]{16,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+"
)

SECRET_NAME = re.compile(f"-*{_ANY}", re.IGNORECASE)
"""`HF_TOKEN`, `--api-key`, `AWS_SECRET_ACCESS_KEY`; not `max_tokens`, `TOKEN_MODE`, `--tokenizer`."""

_BEFORE = (
    rf"(?<![\w-])-*(?:{_COMPOUND})[\"']?\s*[=:]\s*[\"']?",  # HF_TOKEN=, api_key:
    rf"(?<![\w-])-*{_LAST}[\"']?\s*=\s*[\"']?",  # ?token=
    rf"(?<![\w-])[\"']{_LAST}[\"']\s*:\s*[\"']?",  # "key":
    rf"(?<![\w-])--{_ANY}[\"']?,?\s+[\"']?(?!-)",  # --api-key
    r"\b(?:bearer|authorization:\s*basic)\s+",
)
"""What stands before a secret value; a word as common as `key` must be quoted, or have `=` after it."""

_HIDING = (
    (re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/@\"']+@", re.IGNORECASE), rf"\1{HIDDEN}@"),
    *((re.compile(rf"({before}){_VALUE}", re.IGNORECASE), rf"\1{HIDDEN}") for before in _BEFORE),
    (re.compile(rf"\b(?:{_KNOWN})"), HIDDEN),
)


def redacted(text: str) -> str:
    """
    Return a text without the values of secrets: `NAME=value`, `--name value`, `"name": "value"`, `scheme://user@`.

    A value is also known by its own look, as those of Hugging Face, GitHub and OpenAI are.
    """
    for pattern, instead in _HIDING:
        text = pattern.sub(instead, text)
    return text


def hidden(name: str, value: str) -> str:
    """Return what may be shown of the value of a variable or an option."""
    return HIDDEN if value and SECRET_NAME.fullmatch(name) else redacted(value)


def scrubbed(value: Value) -> Value:
    """Return plain data or a dataclass with every text in it redacted; under a secret name nothing is left."""
    return cast("Value", _scrubbed(value))


def _scrubbed(value: Any) -> Any:  # noqa: ANN401 whatever a study holds
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {name: _under(name, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_words(value))
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return replace(value, **_scrubbed(own))
    return value


def _under(name: object, value: object) -> object:
    return hidden(name, value) if isinstance(name, str) and isinstance(value, str) else _scrubbed(value)


def _words(values: list[Any] | tuple[Any, ...]) -> list[Any]:
    """Return the words of a command line, or other values: what follows a secret option is hidden up to the next."""
    shown, secret = [], False
    for value in values:
        option = isinstance(value, str) and value.startswith("-")
        secret = bool(option and SECRET_NAME.fullmatch(value)) or (secret and not option)
        shown.append(HIDDEN if secret and not option else _scrubbed(value))
    return shown
