"""
What the name of an emulated image says that the image does: there is no image behind it. Pure.

`emulated:TAG?NAME=VALUE,...`. The tag means nothing by itself, so that nothing about a real version is claimed. What
follows it does: `rate` multiplies the rate of every request, an invented regression or gain; the name of a parameter
that a variable switches (NAMES.md) is what the image has where the recipe does not set that variable. `persist=0` is
so an engine from before the persistent MLA decode kernel, which is slower from some 300,000 tokens of a batch on and
faster below (vllm-project/vllm#45943).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trials.engines.emulated.from_recipe import SWITCHES

PREFIX = "emulated:"
RATE = "rate"
VALUES = ("0", "1")


class BadImage(ValueError):
    """The name of an emulated image says something that no image can do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """
    What an image changes.

    Attributes:
        env: Variables that are set where the recipe does not set them.
        rate: Of every request, over the landscape's.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    rate: float = 1.0


def image(name: str) -> Image:
    """
    Return what an image changes, by its name.

    Raises:
        BadImage: It is none, or says what is not understood.
    """
    if not name.startswith(PREFIX):
        raise BadImage(f"image {name!r} is not emulated: write {PREFIX}TAG, or {PREFIX}TAG?rate=0.95")
    _, asked, effects = name.partition("?")
    env, rate = {}, 1.0
    for effect in effects.split(",") if asked else ():
        key, _, value = effect.partition("=")
        if key == RATE:
            rate = _rate(name, value)
        elif key in SWITCHES and value in VALUES:
            env[SWITCHES[key][0]] = value
        else:
            raise BadImage(f"image {name!r}: {effect!r} is not understood; write rate=0.95, or {_switches()} as 0 or 1")
    return Image(env=env, rate=rate)


def _rate(name: str, value: str) -> float:
    try:
        rate = float(value)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise BadImage(f"image {name!r}: rate={value} is not a rate; write a number above 0, as rate=0.95")
    return rate


def _switches() -> str:
    return ", ".join(SWITCHES)
