"""Prompts of a workload: unique, seeded, about as long as asked."""

import random
from collections.abc import Iterator

# Everyday English words that most byte-pair vocabularies hold as one token when a space stands before them, so that
# a prompt of n words is about n tokens. What was really sent is what the server's usage says.
WORDS = (
    "river",
    "stone",
    "cloud",
    "paper",
    "light",
    "water",
    "music",
    "garden",
    "window",
    "table",
    "summer",
    "winter",
    "morning",
    "evening",
    "market",
    "village",
    "forest",
    "mountain",
    "island",
    "bridge",
    "castle",
    "school",
    "hospital",
    "theater",
    "kitchen",
    "bottle",
    "basket",
    "letter",
    "number",
    "picture",
    "story",
    "question",
    "answer",
    "moment",
    "minute",
    "hour",
    "week",
    "month",
    "year",
    "friend",
    "mother",
    "father",
    "sister",
    "brother",
    "doctor",
    "teacher",
    "farmer",
    "driver",
    "soldier",
    "artist",
    "writer",
    "horse",
    "bird",
    "fish",
    "tree",
    "flower",
    "grass",
    "wind",
    "rain",
    "snow",
    "fire",
    "gold",
    "silver",
    "iron",
)


def prompts(input_tokens: int, seed: str) -> Iterator[str]:
    """
    Yield prompts without end: words drawn independently, so that no two share a prefix worth caching.

    Args:
        input_tokens: Tokens a prompt should have, about; at least 1.
        seed: Equal seeds yield equal prompts.

    Source: docs/decisions/0005-load.md; runs of consecutive token ids, as other clients send, collide in 2-8 % of
        prompts and are then served from the prefix cache.
    """
    draw = random.Random(seed)  # noqa: S311 a load, not a secret
    while True:
        yield " ".join(draw.choices(WORDS, k=input_tokens))
