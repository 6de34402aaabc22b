"""Word problems of one to four steps in GSM8K's form, for the demo: a line of working, then '#### N'.

The wording, the ranges and the style of the working are those that the demo's model was trained on. A new kind, or
another range, is a question that it cannot answer.
"""

import json
import operator
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass

NAMES = (
    *("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jade"),
    *("Kim", "Leo", "Mia", "Nils", "Olga", "Pia", "Quinn", "Rosa", "Sam", "Tess"),
)
THINGS = (
    *("apples", "books", "coins", "pens", "shells", "stamps"),
    *("marbles", "cards", "plums", "bricks", "tickets", "candles"),
)
OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A question and its worked answer, which ends in '#### N'."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Step:
    """One line of working, such as '3 * 14 = 42'."""

    left: int
    sign: str
    right: int

    @property
    def value(self) -> int:
        """What the step comes to."""
        return OPERATIONS[self.sign](self.left, self.right)

    def __str__(self) -> str:
        """Write the step as the answer shows it."""
        return f"{self.left} {self.sign} {self.right} = {self.value}"


@dataclass(frozen=True, slots=True)
class Draw:
    """The people and things of one problem, and where its numbers come from."""

    name: str
    other: str
    things: str
    random: random.Random

    def hundreds(self) -> int:
        """Draw 12 to 499."""
        return self.random.randint(12, 499)

    def tens(self) -> int:
        """Draw 12 to 89."""
        return self.random.randint(12, 89)

    def few(self) -> int:
        """Draw 3 to 9."""
        return self.random.randint(3, 9)

    def between(self, low: int, high: int) -> int:
        """Draw from `low` to `high`, both included."""
        return self.random.randint(low, high)


Told = tuple[str, tuple[Step, ...]]
"""A question and the steps that answer it."""


def found_and_sold(d: Draw) -> Told:
    """Add, then take away."""
    both = Step(d.hundreds(), "+", d.hundreds())
    left = Step(both.value, "-", d.between(2, both.value))
    question = (
        f"{d.name} has {both.left} {d.things}, finds {both.right} more and then sells {left.right}. "
        f"How many {d.things} are left?"
    )
    return question, (both, left)


def crates_of_two(d: Draw) -> Told:
    """Multiply twice, then add."""
    first, second = Step(d.few(), "*", d.tens()), Step(d.few(), "*", d.tens())
    question = (
        f"{d.name} fills {first.left} crates with {first.right} {d.things} each. "
        f"{d.other} fills {second.left} crates with {second.right} {d.things} each. "
        f"How many {d.things} are in the crates?"
    )
    return question, (first, second, Step(first.value, "+", second.value))


def times_as_many(d: Draw) -> Told:
    """Multiply, then add to what was there."""
    many = Step(d.few(), "*", d.tens())
    question = (
        f"{d.name} has {many.right} {d.things}. {d.other} has {many.left} times as many {d.things} as {d.name}. "
        f"How many {d.things} do they have together?"
    )
    return question, (many, Step(many.right, "+", many.value))


def spent_dollars(d: Draw) -> Told:
    """Multiply, then take it from what was there."""
    cost = Step(d.few(), "*", d.tens())
    left = Step(d.between(cost.value, 999), "-", cost.value)
    question = (
        f"{d.name} has {left.left} dollars and buys {cost.left} {d.things} at {cost.right} dollars each. "
        f"How many dollars are left?"
    )
    return question, (cost, left)


def shared_equally(d: Draw) -> Told:
    """Divide without a rest, then add."""
    friends, each = d.few(), d.between(12, 99)
    share = Step(each * friends, "/", friends)
    has = Step(share.value, "+", d.between(2, 99))
    question = (
        f"{d.name} shares {share.left} {d.things} equally among {friends} friends. "
        f"One friend, {d.other}, already had {has.right} {d.things}. How many {d.things} does {d.other} have now?"
    )
    return question, (share, has)


def packed_and_sold(d: Draw) -> Told:
    """Multiply, take away, add."""
    packed = Step(d.few(), "*", d.tens())
    kept = Step(packed.value, "-", d.between(1, packed.value))
    more = Step(kept.value, "+", d.between(12, 299))
    question = (
        f"{d.name} packs {packed.left} bags with {packed.right} {d.things} each, sells {kept.right} {d.things} "
        f"and then gets {more.right} more. How many {d.things} does {d.name} have?"
    )
    return question, (packed, kept, more)


def pages_read(d: Draw) -> Told:
    """Add twice."""
    spring = Step(d.hundreds(), "+", d.hundreds())
    total = Step(spring.value, "+", d.between(12, 299))
    question = (
        f"{d.name} reads {spring.left} pages in May, {spring.right} pages in June and {total.right} pages in July. "
        f"How many pages is that?"
    )
    return question, (spring, total)


def how_many_more(d: Draw) -> Told:
    """Take away once."""
    less, more = sorted((d.hundreds(), d.hundreds()))
    question = (
        f"{d.name} has {more} {d.things} and {d.other} has {less} {d.things}. "
        f"How many more {d.things} does {d.name} have than {d.other}?"
    )
    return question, (Step(more, "-", less),)


KINDS = (
    found_and_sold,
    crates_of_two,
    times_as_many,
    spent_dollars,
    shared_equally,
    packed_and_sold,
    pages_read,
    how_many_more,
)


def problems(seed: int, count: int) -> list[Problem]:
    """Return `count` problems with different questions, every kind equally likely; the same seed gives the same."""
    source = random.Random(seed)  # noqa: S311 - a data set, not a secret
    unique: dict[str, Problem] = {}
    while len(unique) < count:
        problem = _problem(source)
        unique.setdefault(problem.question, problem)
    return list(unique.values())


def jsonl(problems: Iterable[Problem]) -> str:
    """Return one JSON object a line, as GSM8K's files have them."""
    return "".join(f"{json.dumps(asdict(problem))}\n" for problem in problems)


def _problem(source: random.Random) -> Problem:
    """Draw one problem and solve it."""
    name, other = source.sample(NAMES, 2)
    question, steps = source.choice(KINDS)(Draw(name, other, source.choice(THINGS), source))
    working = ". ".join(map(str, steps))
    return Problem(question, f"{working}\n#### {steps[-1].value}")
