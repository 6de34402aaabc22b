"""One study's search: asked in order, told outcomes, and made anew from what the folders hold."""

from pathlib import Path

import pytest
from optuna.trial import FrozenTrial, TrialState

from autotune.search.samplers import SAMPLERS
from autotune.search.search import Search
from search_spaces import SearchSpace
from tests.autotune.studies import LOST, MEMORY, complete
from tests.support import measured, verdict
from trials.outcome import Outcome

OUTCOMES: tuple[Outcome, ...] = (
    measured(100.0, 100.0),
    measured(80.0, 80.0),
    MEMORY,
    measured(120.0, 120.0, gate=verdict(40, result="fail")),
    LOST,
    measured(110.0, 110.0),
)


def search(space: SearchSpace, *, seed: int = 1, sampler: str = "random", database: Path | None = None) -> Search:
    """Return a search in memory unless a database is named."""
    return Search(space, sampler=sampler, seed=seed, database=database)


def told(made: Search) -> list[FrozenTrial]:
    """Return what Optuna knows."""
    return made._study.get_trials()


def test_what_is_enqueued_is_asked_first_and_in_order(small: SearchSpace) -> None:
    made = search(small)
    first, second = complete(small, {"threads": 4}), complete(small, {"cache": "q4_0", "unified": True})
    made.enqueue(first)
    made.enqueue(second)
    assert [made.ask().config, made.ask().config] == [first, second]


def test_every_knob_is_proposed(small: SearchSpace) -> None:
    assert list(search(small).ask().config) == list(small.knobs)


def test_proposals_are_numbered_as_optuna_numbers_them(small: SearchSpace) -> None:
    made = search(small)
    assert [made.ask().number, made.ask().number] == [0, 1]


@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "random"])
def test_one_seed_proposes_the_same_configs(small: SearchSpace, sampler: str) -> None:
    def proposed(seed: int) -> list[object]:
        made = search(small, sampler=sampler, seed=seed)
        configs: list[object] = []
        for _ in range(12):
            proposal = made.ask()
            configs.append(proposal.config)
            made.tell(proposal, measured(float(len(configs)), 1.0))
        return configs

    assert proposed(3) == proposed(3)
    assert proposed(3) != proposed(4)


def test_every_sampler_of_the_seam_has_a_lower_case_name() -> None:
    assert [name for name in SAMPLERS if not name.isalnum() or not name.islower()] == []


def test_a_replay_tells_what_was_told_before(small: SearchSpace) -> None:
    before, after = search(small), search(small, seed=2)
    for outcome in OUTCOMES:
        proposal = before.ask()
        before.tell(proposal, outcome)
        after.replay(proposal.config, outcome)
    known = [(trial.state, trial.value, trial.params, trial.constraints, trial.user_attrs) for trial in told(after)]
    assert known == [
        (trial.state, trial.value, trial.params, trial.constraints, trial.user_attrs) for trial in told(before)
    ]
    assert [trial.value for trial in told(after)] == pytest.approx([100.0, 80.0, 80.0, 120.0, None, 110.0])


def test_after_a_replay_the_search_goes_on_with_fresh_proposals(small: SearchSpace) -> None:
    made = search(small, sampler="tpe")
    for threads in (1, 2, 3, 4):
        made.replay(complete(small, {"threads": threads}), measured(100.0 + threads, 100.0))
    assert made.ask().number == 4


def test_an_outcome_is_told_with_the_gates_constraint(small: SearchSpace) -> None:
    made = search(small)
    made.tell(made.ask(), OUTCOMES[3])
    assert told(made)[0].constraints["accuracy"] == pytest.approx(0.97 - 40 / 64)


def test_a_proposal_given_back_is_not_learned_from(small: SearchSpace) -> None:
    made = search(small)
    made.forget(made.ask())
    assert [(trial.state, trial.value) for trial in told(made)] == [(TrialState.FAIL, None)]


def test_the_index_lies_in_its_file_or_in_memory(small: SearchSpace, tmp_path: Path) -> None:
    search(small).ask()
    assert list(tmp_path.glob("*.db")) == []
    database = tmp_path / "study.db"
    written = search(small, database=database)
    written.tell(written.ask(), measured(100.0, 100.0))
    assert database.exists()
    assert [trial.value for trial in told(search(small, database=database))] == pytest.approx([100.0])
