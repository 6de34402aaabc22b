"""The evidence of a study: gathered from its folder, written as Markdown and JSON."""

import json
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from pydantic import TypeAdapter

from autotune.confirm import Conclusion, baseline, changes, conclude, value
from autotune.evidence import tables
from autotune.folder import LaunchRecord, Settings, StudyFolder, TrialRecord
from evals import Verdict
from search_spaces import SearchSpace, load, recipe_text, resolve
from trials.files import write_whole
from trials.outcome import Measured, Outcome

RESULTS = {
    "win": "Win: trial {number} is faster than the baseline, and passes its gate.",
    "loss": "The baseline stays: trial {number} looked faster in the search, fresh launches say that it is slower.",
    "tie": "Tie: the baseline stays. Trial {number} is within 2 % of it.",
    "undecided": "Undecided: the baseline stays. Trial {number} may be faster; the launches made can't tell.",
    "no candidate": "The baseline stays: no config that passed the gate looked faster and could be confirmed.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that a study's folder proves."""

    settings: Settings
    space: SearchSpace
    trials: tuple[TrialRecord, ...]
    launches: tuple[LaunchRecord, ...]
    conclusion: Conclusion
    provenance: dict[str, Any]

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        number = self.conclusion.standings[-1].candidate.number if self.conclusion.standings else 0
        return RESULTS[self.conclusion.result].format(number=number)


def gather(folder: StudyFolder) -> Evidence:
    """Read a study's folder."""
    space, trials, launches = load(folder.space), folder.trials(), folder.launches()
    return Evidence(
        settings=folder.settings(),
        space=space,
        trials=tuple(trials),
        launches=tuple(launches),
        conclusion=conclude(trials, launches, space),
        provenance=json.loads(folder.provenance.read_text(encoding="utf-8")),
    )


def write(folder: StudyFolder) -> None:
    """Write the winner's recipe, and the evidence as Markdown and JSON."""
    found = gather(folder)
    write_whole(folder.recipe, recipe_text(resolve(found.space, found.conclusion.winner.config)))
    write_whole(folder.evidence_md, to_markdown(found))
    write_whole(folder.evidence_json, to_json(found))


def to_markdown(found: Evidence) -> str:
    """Return the evidence for people."""
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701 Markdown
    template = environment.from_string(files(__package__).joinpath("evidence.md.j2").read_text(encoding="utf-8"))
    base = baseline(found.trials)
    last = found.conclusion.standings[-1] if found.conclusion.standings else None
    return template.render(
        found=found,
        base=base,
        last=last,
        tables=tables,
        confirmed=_verdicts(found),
        percent=tables.percent,
        interval=tables.interval,
        score=value(base.outcome, found.space.objective) if isinstance(base.outcome, Measured) else None,
    )


def _verdicts(found: Evidence) -> list[tuple[str, Verdict]]:
    """Return the confirmation's verdicts, each with the name of its recipe."""
    return [
        ("baseline" if launch.arm == "A" else f"trial {launch.candidate}", launch.outcome.verdict)
        for launch in found.launches
        if isinstance(launch.outcome, Measured) and launch.outcome.verdict is not None
    ]


def _figures(outcome: Outcome | None) -> object:
    """Return an outcome without the answers to single questions: these are in the trial's own `outcome.json`."""
    return replace(outcome, correct={}) if isinstance(outcome, Measured) else outcome


def to_json(found: Evidence) -> str:
    """Return the evidence for machines."""
    conclusion, space = found.conclusion, found.space
    whole = {
        "result": conclusion.result,
        "sentence": found.sentence,
        "winner": {
            "trial": conclusion.winner.number,
            "fingerprint": conclusion.winner.fingerprint,
            "config": resolve(space, conclusion.winner.config).config,
            "changes": changes(conclusion.winner, space),
        },
        "candidates": [
            {
                "trial": standing.candidate.number,
                "changes": changes(standing.candidate, space),
                "comparison": standing.comparison,
                "dropped": standing.dropped,
                "stopped": standing.stopped,
            }
            for standing in conclusion.standings
        ],
        "gates": [{"recipe": name, "verdict": verdict} for name, verdict in _verdicts(found)],
        "trials": [
            {"number": t.number, "config": t.config, "fingerprint": t.fingerprint, "outcome": _figures(t.outcome)}
            for t in found.trials
        ],
        "launches": [
            {"number": n.number, "arm": n.arm, "candidate": n.candidate, "outcome": _figures(n.outcome)}
            for n in found.launches
        ],
        "settings": found.settings,
        "provenance": found.provenance,
    }
    return TypeAdapter(Any).dump_json(whole, indent=2).decode() + "\n"
