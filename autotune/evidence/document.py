"""The evidence as Markdown for people, as JSON for machines; and all of it, written."""

from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from autotune.confirm import changes
from autotune.evidence import tables
from autotune.evidence.evidence import Evidence, gather, judged
from autotune.evidence.html import to_html
from autotune.evidence.plots import plots, png, svg
from autotune.evidence.templates import render
from autotune.folder import StudyFolder
from search_spaces import recipe_text, resolve
from trials.files import write_whole
from trials.outcome import Measured, Outcome


def write(folder: StudyFolder) -> None:
    """
    Write the winner's recipe, the documents and the plots, from the raw data alone.

    Of a study that is not finished there is no winner, and no recipe is left of an earlier end.

    Raises:
        NoBaseline: If the baseline was not measured, or not yet.
    """
    found = gather(folder)
    if found.finished:
        recipe = recipe_text(resolve(found.space, found.conclusion.winner.config))
        write_whole(folder.recipe, f"# {found.emulated}\n{recipe}" if found.emulated else recipe)
    else:
        folder.recipe.unlink(missing_ok=True)
    folder.plots.mkdir(exist_ok=True)
    for plot in plots(found):
        write_whole(folder.plots / f"{plot.name}.svg", svg(plot))
        write_whole(folder.plots / f"{plot.name}.png", png(plot))
    write_whole(folder.evidence_md, to_markdown(found))
    write_whole(folder.evidence_html, to_html(found))
    write_whole(folder.evidence_json, to_json(found))


def to_markdown(found: Evidence) -> str:
    """Return the evidence for people."""
    return render(
        "evidence.md.j2",
        escape=False,
        found=found,
        last=found.standing,
        tables=tables,
        plots=plots(found),
        confirmed=judged(found),
    )


def _figures(outcome: Outcome | None) -> object:
    """Return an outcome without the answers to single questions: these are in the trial's own `outcome.json`."""
    if not isinstance(outcome, Measured):
        return outcome
    return replace(outcome, judged=tuple(replace(each, correct={}) for each in outcome.judged))


def _winner(found: Evidence) -> dict[str, object]:
    winner = found.conclusion.winner
    return {
        "trial": winner.number,
        "fingerprint": winner.fingerprint,
        "config": resolve(found.space, winner.config).config,
        "changes": changes(winner, found.space),
    }


def to_json(found: Evidence) -> str:
    """Return the evidence for machines."""
    conclusion, space = found.conclusion, found.space
    whole = {
        "emulated": found.settings.emulation is not None,
        "finished": found.finished,
        "result": conclusion.result if found.finished else None,
        "sentence": found.sentence,
        "winner": _winner(found) if found.finished else None,
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
        "gates": [
            {"recipe": name, "concurrency": each.concurrency, "verdict": each.verdict} for name, each in judged(found)
        ],
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
