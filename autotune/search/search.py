"""One study's search: Optuna behind ask and tell. Its storage is an index; the trial folders are the fact."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import optuna
from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from optuna.trial import Trial
from sqlalchemy.exc import SQLAlchemyError

from autotune.search.flat import distributions, to_config, to_params
from autotune.search.samplers import make
from autotune.search.tell import tell
from search_spaces import Config, SearchSpace
from trials.outcome import Lost, Outcome

optuna.logging.set_verbosity(optuna.logging.WARNING)


class IndexUnwritable(Exception):
    """Optuna's index can't be read or written: the disk is full, or somebody else has the file."""


@contextmanager
def _index() -> Iterator[None]:
    try:
        yield
    except (StorageInternalError, SQLAlchemyError) as error:
        cause = error.__cause__ or error
        raise IndexUnwritable(
            f"study.db, the search's index: {cause}: is the disk full? Mend that, then `autotune resume` the study; "
            "the index is made anew from the trials"
        ) from error


@dataclass(frozen=True, slots=True)
class Proposal:
    """A config to try, and Optuna's trial to tell its outcome to."""

    config: Config
    trial: Trial

    @property
    def number(self) -> int:
        """Optuna's number of the trial, from 0."""
        return self.trial.number


class Search:
    """Asks for configs and tells outcomes."""

    def __init__(self, space: SearchSpace, *, sampler: str, seed: int, database: Path | None) -> None:
        """
        Open the search of a study, new or continued.

        Args:
            sampler: A name that `samplers.make` knows.
            database: A SQLite file; None keeps the index in memory.
        """
        self._space = space
        self._distributions = distributions(space)
        with _index():
            self._study = optuna.create_study(
                study_name="search",
                storage=None if database is None else RDBStorage(f"sqlite:///{database}"),
                sampler=make(sampler, space, seed),
                direction="maximize",
                load_if_exists=True,
            )

    def enqueue(self, config: Config) -> None:
        """Make `config` the next one that `ask` returns."""
        with _index():
            self._study.enqueue_trial(to_params(self._space, config))

    def ask(self) -> Proposal:
        """Return the next config to try."""
        with _index():
            trial = self._study.ask(self._distributions)
        return Proposal(to_config(self._space, trial.params), trial)

    def tell(self, proposal: Proposal, outcome: Outcome) -> None:
        """Tell what became of a proposal; a lost one is not learned from."""
        with _index():
            tell(self._study, proposal.trial, outcome, self._space.objective)

    def replay(self, config: Config, outcome: Outcome) -> None:
        """Learn from a trial of an earlier sitting."""
        self.enqueue(config)
        self.tell(self.ask(), outcome)

    def forget(self, proposal: Proposal) -> None:
        """Give a proposal back that will not be run."""
        self.tell(proposal, Lost(reason="not run", seconds={}))
