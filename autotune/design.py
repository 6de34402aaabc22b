"""Which launches take a winner apart, within their budget. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from autotune.compare import FEWEST
from autotune.expected import over_ladder
from autotune.folder import TrialRecord
from autotune.rounds import ALONE, BASELINE, CANDIDATE, REST, WITHOUT, name
from search_spaces import Config, RuleBroken, SearchSpace, resolve

MOST_KNOBS = 6
MOST_ROUNDS = 6
DOUBT = 0.5
"""A change that is expected to move the objective by less of its own deviation matters little."""

Kind = Literal["without", "alone"]


@dataclass(frozen=True, slots=True)
class Row:
    """
    One setting of the table: the winner without some of its knobs, or the baseline with one.

    Attributes:
        arm: Whose launches measure it.
        against: Whose launches it is held against.
    """

    kind: Kind
    knobs: tuple[str, ...]
    words: str
    arm: str
    against: str


@dataclass(frozen=True, slots=True)
class Design:
    """
    What is launched to take a winner apart.

    Attributes:
        arms: The config of each, the winner's first.
        rounds: Launches of each arm.
        tied: Knobs that can't be undone alone, each with the rule that it would break.
        wanted: Launches that it would take to undo each knob that matters and to launch the baseline with each, too.
    """

    arms: Mapping[str, Config]
    rows: tuple[Row, ...]
    rounds: int
    tied: Mapping[str, str]
    wanted: int

    @property
    def additive(self) -> bool:
        """Whether the baseline is launched with single knobs."""
        return any(row.kind == "alone" for row in self.rows)

    def without(self, knob: str) -> Row | None:
        """Return the row that undoes a knob; None where that changes nothing, or breaks a rule."""
        return next((row for row in self.rows if row.kind == "without" and knob in row.knobs), None)


def design(winner: TrialRecord, trials: Sequence[TrialRecord], space: SearchSpace) -> Design | None:
    """
    Return what is launched: the winner without each knob that matters and without all the others at once; where the
    budget has room for it, also the baseline with each knob that matters.

    None if there are fewer than two knobs to tell apart, or no budget to launch each recipe twice.
    """
    ranked = ranking(winner, trials, space)
    if len(ranked.matter) + len(ranked.rest) < FEWEST:
        return None
    wanted = FEWEST * len(_Drawing(winner, space).draw(ranked, alone=True).arms)
    for many in range(len(ranked.matter), 0, -1):
        few = Ranking(ranked.matter[:many], (*ranked.matter[many:], *ranked.rest))
        for alone in (True, False):
            plan = _Drawing(winner, space).draw(few, alone=alone)
            rounds = space.budget.ablation_launches // len(plan.arms)
            if rounds >= FEWEST:
                return replace(plan, rounds=min(rounds, MOST_ROUNDS), wanted=wanted)
    return None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The knobs of a winner: those that matter, most first, and the others."""

    matter: tuple[str, ...]
    rest: tuple[str, ...]


def ranking(winner: TrialRecord, trials: Sequence[TrialRecord], space: SearchSpace) -> Ranking:
    """Return which knobs of a winner are expected to matter by what the search measured."""
    expected = over_ladder(trials, space).of(winner.config)
    knobs = sorted(expected, key=lambda knob: -abs(expected[knob].mean))
    matter = [knob for knob in knobs if abs(expected[knob].mean) >= DOUBT * expected[knob].deviation] or knobs[:1]
    return Ranking(tuple(matter[:MOST_KNOBS]), tuple(knob for knob in knobs if knob not in matter[:MOST_KNOBS]))


@dataclass(slots=True)
class _Drawing:
    """A design while it is drawn: two settings that come to one recipe share an arm."""

    winner: TrialRecord
    space: SearchSpace
    arms: dict[str, Config] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    tied: dict[str, str] = field(default_factory=dict)
    _drawn: dict[str, str] = field(default_factory=dict)

    def draw(self, ranked: Ranking, *, alone: bool) -> Design:
        """Return the design, still without numbers of launches."""
        whole, base = resolve(self.space, self.winner.config).config, self.space.baseline
        top = self._arm(CANDIDATE, whole)
        for knob in ranked.matter:
            self._row("without", (knob,), f"{WITHOUT}{knob}", {**whole, knob: base[knob]}, top)
        if ranked.rest:
            self._row("without", ranked.rest, REST, {**whole, **{knob: base[knob] for knob in ranked.rest}}, top)
        if alone:
            foot = self._arm(BASELINE, base)
            for knob in ranked.matter:
                self._row("alone", (knob,), f"{ALONE}{knob}", {**base, knob: whole[knob]}, foot)
        return Design(arms=self.arms, rows=tuple(self.rows), rounds=0, tied=self.tied, wanted=0)

    def _row(self, kind: Kind, knobs: tuple[str, ...], arm: str, config: Config, than: str) -> None:
        try:
            shared = self._arm(arm, config)
        except RuleBroken as broken:
            if kind == "without":
                self.tied |= dict.fromkeys(knobs, str(broken))
            return
        if shared != than:
            self.rows.append(Row(kind, knobs, _words(kind, knobs, self.winner.number), shared, than))

    def _arm(self, arm: str, config: Config) -> str:
        fingerprint = resolve(self.space, config).fingerprint
        if fingerprint not in self._drawn:
            self._drawn[fingerprint] = arm
            self.arms[arm] = config
        return self._drawn[fingerprint]


def _words(kind: Kind, knobs: Sequence[str], winner: int) -> str:
    named = ", ".join(knobs)
    return (
        f"{name(CANDIDATE, winner)} without {named}" if kind == "without" else f"{name(BASELINE, winner)} with {named}"
    )
