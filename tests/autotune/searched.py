"""A study that was searched: its folder and its index, as a driver leaves them."""

from dataclasses import replace
from pathlib import Path

from autotune.folder import StudyFolder, study_folder
from autotune.search.search import Search
from search_spaces import SearchSpace
from tests.autotune.studies import MEMORY, settings, space
from tests.autotune.truths import KNOBS, World
from trials import outcome as outcomes
from trials.emulation import Emulation
from trials.outcome import Measured

EMULATION = Emulation(landscape="L0", seed=0, noise=0.0, flaky=0.0)


def searched(root: Path, *, count: int = 30, rehearsal: bool = False) -> StudyFolder:
    """
    Return a study of eight switches that was interrupted: `c` brings 12 %, `b` with `e` runs out of memory.

    `h` was never moved, and one more trial was under way.
    """
    knobs = space(root, KNOBS)
    begun = replace(settings(root), emulation=EMULATION if rehearsal else None)
    folder = study_folder(root / "studies", "one")
    folder.begin(begun, knobs, {"host": "a host"})
    _search(folder, knobs, count)
    return folder


def _search(folder: StudyFolder, knobs: SearchSpace, count: int) -> None:
    index = Search(knobs, sampler="random", seed=1, database=folder.database)
    draws = World(knobs, {"c": 0.12}).searched(4 * count + 4)
    tried = list({one.fingerprint: one for one in draws if one.config["h"] is False}.values())[: count + 1]
    for number, one in enumerate(tried):
        crashes = one.config["b"] is True and one.config["e"] is True
        outcome = MEMORY if crashes else one.outcome
        assert isinstance(outcome, Measured) or crashes
        made = folder.new_trial(number, one.config, one.fingerprint)
        if outcome:
            outcomes.write(made / "outcome.json", outcome)
            index.replay(one.config, outcome)
    index.ask()
    last = tried[-1]
    folder.new_trial(len(tried), {**last.config, "h": True}, "under way")
