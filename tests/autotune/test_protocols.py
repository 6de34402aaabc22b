"""A study goes on only under the gates that have judged in it, and says what has changed."""

import dataclasses
from pathlib import Path

import pytest

from autotune.folder import StudyFolder, study_folder
from autotune.gates import GateOfStudy, gates
from autotune.protocols import OtherProtocol, refuse_other_protocol
from autotune.provenance import gate_words
from evals import EvalProtocol, Identity
from search_spaces import SearchSpace
from tests.autotune.studies import LOST, settings
from tests.support import measured
from trials import outcome as outcomes
from trials.outcome import Measured


@pytest.fixture
def asked(tmp_path: Path, small: SearchSpace) -> tuple[GateOfStudy, ...]:
    """Return the gates of a study as they are today."""
    return gates(small, space_folder=tmp_path, data_root=tmp_path)


def judged(identity: Identity) -> Measured:
    """Return what a trial measured whose gate was this exam."""
    outcome = measured(100.0)
    protocol = EvalProtocol(identity=identity, max_tokens=64)
    return dataclasses.replace(
        outcome,
        judged=tuple(
            dataclasses.replace(one, verdict=dataclasses.replace(one.verdict, protocol=protocol))
            for one in outcome.judged
        ),
    )


def begun(folder: Path, small: SearchSpace, identity: Identity) -> StudyFolder:
    """Return the folder of a study that has begun under a gate, without a trial."""
    study = study_folder(folder / "studies", "one")
    study.begin(settings(folder), small, {"gate": gate_words([identity])})
    return study


def with_trial(study: StudyFolder, small: SearchSpace, outcome: outcomes.Outcome) -> StudyFolder:
    """Add a trial of the baseline."""
    outcomes.write(study.new_trial(0, small.baseline, "f") / "outcome.json", outcome)
    return study


def test_the_same_gates_judge_on(tmp_path: Path, small: SearchSpace, asked: tuple[GateOfStudy, ...]) -> None:
    identity = asked[0].exam.identity
    study = begun(tmp_path, small, identity)
    refuse_other_protocol(study, asked)
    refuse_other_protocol(with_trial(study, small, judged(identity)), asked)


def test_another_evaluator_than_judged_a_trial_is_refused_with_both_and_the_trial(
    tmp_path: Path, small: SearchSpace, asked: tuple[GateOfStudy, ...]
) -> None:
    identity = asked[0].exam.identity
    older = dataclasses.replace(identity, evaluator="lm-eval 0.4.9")
    study = with_trial(begun(tmp_path, small, older), small, judged(older))
    with pytest.raises(OtherProtocol) as refused:
        refuse_other_protocol(study, asked)
    said = f"evaluator is lm-eval 0.4.9, not {identity.evaluator}; install what it was begun with"
    assert f"{study.root}/trials/0000 was judged under another protocol" in str(refused.value)
    assert said in str(refused.value)


def test_of_several_gates_the_one_most_alike_is_named(
    tmp_path: Path, small: SearchSpace, asked: tuple[GateOfStudy, ...]
) -> None:
    (one,) = asked
    by_chat = SearchSpace.model_validate(
        {**small.model_dump(by_alias=True), "gate": {**_gate(small), "endpoint": "chat"}}
    )
    both = (*gates(by_chat, space_folder=tmp_path, data_root=tmp_path), one)
    older = dataclasses.replace(one.exam.identity, questions_sha256="0" * 64)
    study = with_trial(begun(tmp_path, small, older), small, judged(older))
    with pytest.raises(OtherProtocol, match=r"environment's: questions_sha256 is 0{64}, not [0-9a-f]{64}; install"):
        refuse_other_protocol(study, both)


def test_before_any_verdict_what_the_study_began_with_counts(
    tmp_path: Path, small: SearchSpace, asked: tuple[GateOfStudy, ...]
) -> None:
    older = dataclasses.replace(asked[0].exam.identity, evaluator="lm-eval 0.4.9")
    study = with_trial(begun(tmp_path, small, older), small, LOST)
    with pytest.raises(OtherProtocol, match=r"was begun with another gate: sums by lm-eval 0\.4\.9, .*, not sums by"):
        refuse_other_protocol(study, asked)


def _gate(space: SearchSpace) -> dict[str, object]:
    (gate,) = space.gates
    return gate.model_dump()
