"""What is read of a study's index beside its search: Optuna's own importance, and a copy for Optuna's dashboard."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import optuna
from optuna.importance import get_param_importances
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from autotune.search.tell import imputed

optuna.logging.set_verbosity(optuna.logging.WARNING)

EVALUATOR = "PED-ANOVA"
"""Optuna's default: how far the best tenth of the trials differs from all of them, knob by knob."""
FEWEST = 10
"""Measured trials: of fewer, the best tenth is one."""
AGAIN = "`autotune resume` makes it anew from the trials"


class NoIndex(Exception):
    """A study's index is not there, or can't be read."""


@dataclass(frozen=True, slots=True)
class Importance:
    """
    What Optuna says of the knobs.

    Attributes:
        shares: By knob, the largest first, 1 together; empty where too little was measured.
        measured: Trials with a value of their own: for those that failed Optuna was told another.
    """

    shares: Mapping[str, float]
    measured: int


def importance(database: Path) -> Importance:
    """
    Return what Optuna's default evaluator says of the trials that were measured.

    Raises:
        NoIndex: There is none to read.
    """
    with _opened(database) as (storage, name):
        told = optuna.load_study(study_name=name, storage=storage).get_trials(states=[TrialState.COMPLETE])
    measured = [trial for trial in told if not imputed(trial.user_attrs)]
    differ = len({trial.value for trial in measured}) > 1
    return Importance(_shares(measured) if differ and len(measured) >= FEWEST else {}, len(measured))


def _shares(measured: list[FrozenTrial]) -> dict[str, float]:
    study = optuna.create_study(direction="maximize")
    study.add_trials(measured)
    return get_param_importances(study)


def copied(database: Path, name: str) -> BaseStorage:
    """
    Return a copy of an index in memory, as Optuna's storage: what is done to it leaves the study as it is.

    Args:
        name: Of the study in the copy.

    Raises:
        NoIndex: There is none to read.
    """
    copy = InMemoryStorage()
    with _opened(database) as (storage, own):
        optuna.copy_study(from_study_name=own, from_storage=storage, to_storage=copy, to_study_name=name)
    return copy


@contextmanager
def _opened(database: Path) -> Iterator[tuple[BaseStorage, str]]:
    """Open a copy of an index, with its study's name: Optuna writes where it opens, and the study may be running."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / database.name
        try:
            _copy(database, copy)
            storage = RDBStorage(f"sqlite:///{copy}", engine_kwargs={"poolclass": NullPool})
            names = optuna.get_all_study_names(storage)
        except (sqlite3.Error, SQLAlchemyError) as error:
            raise NoIndex(f"{database}, the index of the search, can't be read: {error}; {AGAIN}") from error
        if not names:
            raise NoIndex(f"{database}, the index of the search, is empty; {AGAIN}")
        yield storage, names[0]


def _copy(database: Path, to: Path) -> None:
    """Copy a database as of one moment; a driver that was killed while it wrote is rolled back first."""
    where = f"{database.resolve().as_uri()}?mode=rw"
    with closing(sqlite3.connect(where, uri=True)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
