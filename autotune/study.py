"""The study: baseline, search, confirmation. Whatever it knows it reads from its folder, so it can go on from there."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from autotune.confirm import baseline, changes, passed, value
from autotune.dispatch import Dispatcher
from autotune.events import (
    Event,
    LaunchEnded,
    LaunchStarted,
    SearchEnded,
    Standings,
    StudyEnded,
    TrialEnded,
    TrialStarted,
)
from autotune.evidence import write as write_evidence
from autotune.folder import Settings, Stage, StudyFolder, TrialRecord
from autotune.forecast import left_s, reserve_s
from autotune.gates import GateOfStudy, confirming, gates
from autotune.inert import identities, inert
from autotune.noise import informed
from autotune.proof import Proof, Step, arms_beside, prove
from autotune.reference import reference_recipe, reference_space
from autotune.rehearsal import prepare
from autotune.retries import LOST_IN_A_ROW, RETRIES, again, counting, known
from autotune.rounds import REFERENCE
from autotune.search.budget import Budget
from autotune.search.propose import propose
from autotune.search.search import Proposal, Search
from evals import Gate
from search_spaces import Recipe, SearchSpace, load, resolve
from trials import outcome as outcomes
from trials.outcome import Infeasible, Lost, Measured, Outcome
from trials.plan import Plan

SEEDS: Mapping[Stage, int] = {"confirm": 0, "ablate": 100, "reduce": 200, "regimes": 300}
START_FAILURES = 10  # in a row, before anything beside the baseline was measured: the space is at fault, not the config


class BaselineFailed(Exception):
    """The baseline could not be measured, or did not pass its own gate: there is nothing to improve on."""


class KeepsLosing(Exception):
    """Trial after trial was lost, whatever its config: this machine, or its cluster, is at fault."""


@dataclass(frozen=True, slots=True)
class Running:
    """A trial under way."""

    record: TrialRecord
    proposal: Proposal


@dataclass(slots=True)
class Sitting:
    """
    One run of the driver over a study; all that must outlive it is in the folder.

    Attributes:
        reference: The space that is launched beside the confirmation, where there is one.
        lost: How many trials in a row were lost until now.
    """

    folder: StudyFolder
    settings: Settings
    space: SearchSpace
    gates: tuple[GateOfStudy, ...]
    dispatcher: Dispatcher
    search: Search
    budget: Budget
    records: dict[int, TrialRecord]
    reference: SearchSpace | None = None
    running: "dict[Future[Outcome], Running]" = field(default_factory=dict)
    lost: int = 0

    @property
    def trials(self) -> list[TrialRecord]:
        """The trials so far, of this run and earlier ones."""
        return list(self.records.values())

    def standings(self) -> Standings:
        """Return how the search stands now."""
        values = {
            r.number: value(r.outcome, self.space.objective)
            for r in self.records.values()
            if isinstance(r.outcome, Measured) and passed(r)
        }
        return Standings(
            baseline=next(iter(values.values()), None),
            best=max(values.items(), key=lambda item: item[1], default=None),
            trials_left=self.budget.trials,
            left_s=left_s(
                self.space,
                [r.outcome for r in self.records.values() if r.outcome],
                trials_left=self.budget.trials + len(self.running),
                search_left_s=self.search_left_s(),
                slots=self.dispatcher.slots,
            ),
        )

    def search_left_s(self) -> float | None:
        """Return the seconds that the search may still take: the confirmation's are kept for it. None: no limit."""
        left = self.budget.left_s()
        if left is None or self.settings.hours is None:
            return None
        return max(0.0, left - reserve_s(self.settings.hours, self.measured()))

    def measured(self) -> list[Measured]:
        """Return what the trials measured until now."""
        return [r.outcome for r in self.records.values() if isinstance(r.outcome, Measured)]


def run(folder: StudyFolder, dispatcher: Dispatcher) -> Iterator[Event]:
    """
    Run a study from wherever it stands to its end, yielding what happens.

    Raises:
        BaselineFailed: If the baseline can't be measured or fails its gate.
        KeepsLosing: If so many trials in a row are lost that their configs can't be why.
    """
    sitting = _sit_down(folder, dispatcher)
    yield from _baseline(sitting)
    yield from _search(sitting)
    yield from _confirm(sitting)
    folder.finish(datetime.now(UTC).isoformat(timespec="seconds"))
    write_evidence(folder)
    yield StudyEnded(_proof(sitting).conclusion)


def _sit_down(folder: StudyFolder, dispatcher: Dispatcher) -> Sitting:
    """Read the folder; the index is made anew from it, so that no half-told trial of an earlier sitting counts."""
    for record in folder.trials():
        if record.outcome is None:
            outcomes.write(record.folder / "outcome.json", Lost(reason="the study ended before the trial", seconds={}))
    settings, records = folder.settings(), folder.trials()
    space = informed(load(folder.space), settings.window_sd)
    folder.database.unlink(missing_ok=True)
    # a sampler that starts again with its first seed would propose again what it proposed then
    search = Search(space, sampler=settings.sampler, seed=settings.seed + len(records), database=folder.database)
    for record in counting(records):
        if record.outcome:
            search.replay(record.config, record.outcome)
    budget = Budget(
        trials=settings.trials - sum(record.fingerprint != records[0].fingerprint for record in counting(records)),
        hours=settings.hours,
        spent_s=sum(sum(record.outcome.seconds.values()) for record in records if record.outcome) / dispatcher.slots,
        virtual=settings.emulation is not None,
    )
    exams = gates(space, space_folder=settings.space_folder, data_root=settings.data_root)
    prepare(folder, settings, exams)
    sitting = Sitting(
        folder=folder,
        settings=settings,
        space=space,
        gates=exams,
        dispatcher=dispatcher,
        search=search,
        budget=budget,
        records=dict(enumerate(records)),
        reference=reference_space(space, settings.space_folder),
    )
    for record in {record.fingerprint: record for record in records}.values():  # the last try of each config
        if again(record, records):
            _retry(sitting, record)
    return sitting


# --- trials ---------------------------------------------------------------------------------------------------------


def _baseline(sitting: Sitting) -> Iterator[Event]:
    """Measure the baseline; the search begins only when it passed its own gate."""
    while sitting.lost <= RETRIES["lost"] and _baseline_is_open(sitting.trials):
        sitting.search.enqueue(sitting.space.baseline)
        proposal = sitting.search.ask()
        yield from _submit(sitting, proposal, resolve(sitting.space, proposal.config))
        yield from _collect(sitting)
    match baseline(sitting.trials).outcome:
        case Measured(verdict=verdict) if verdict and verdict.result != "pass":
            raise BaselineFailed(f"the baseline's gate: {verdict.result}: {'; '.join(verdict.reasons)}")
        case Infeasible(failure=failure, reason=reason):
            raise BaselineFailed(f"the baseline failed ({failure}): {reason}")
        case Lost(reason=reason):
            raise BaselineFailed(f"the baseline was lost {sitting.lost} times: {reason}")
        case _:
            return


def _baseline_is_open(trials: Sequence[TrialRecord]) -> bool:
    """Say whether the baseline is to be run: nothing is known of it, or it was lost when the study was left."""
    return not trials or isinstance(baseline(trials).outcome, Lost) or again(baseline(trials), trials)


def _search(sitting: Sitting) -> Iterator[Event]:
    """Propose, run and tell until the budget is spent, the space is exhausted, or nothing starts at all."""
    why = ""
    _enqueue_known(sitting)
    while not why or sitting.running:
        while not why and len(sitting.running) < sitting.dispatcher.slots:
            why = _over(sitting)
            if why:
                break
            fresh = _propose(sitting)
            if fresh:
                sitting.budget.submit()
                yield from _submit(sitting, *fresh)
            elif sitting.running:
                break  # one of them may be lost or stuck, and asked for again
            else:
                why = "every config of the space was measured"
        if sitting.running:
            yield from _collect(sitting)
        _refuse_to_go_on_losing(sitting)
    yield SearchEnded(why)


def _propose(sitting: Sitting) -> tuple[Proposal, Recipe] | None:
    """Return what to run next; a variable that the engine does not know makes no config another."""
    nothing = inert(sitting.trials)
    own = identities(sitting.space, sitting.trials, nothing)
    seen = {own[fingerprint]: outcome for fingerprint, outcome in known(sitting.trials).items()}
    running = {own[each.record.fingerprint] for each in sitting.running.values()}
    return propose(sitting.search, sitting.space, seen, running, inert=nothing)


def _enqueue_known(sitting: Sitting) -> None:
    """Ask for the space's known recipes first, those that no earlier sitting tried."""
    tried = {record.fingerprint for record in sitting.trials}
    for known_recipe in sitting.space.known if sitting.settings.known else ():
        config = {**sitting.space.baseline, **known_recipe.set}
        if resolve(sitting.space, config).fingerprint not in tried:
            sitting.search.enqueue(config)


def _refuse_to_go_on_losing(sitting: Sitting) -> None:
    if sitting.lost >= LOST_IN_A_ROW:
        last = [t.outcome.reason for t in sitting.trials if isinstance(t.outcome, Lost)][-1]
        raise KeepsLosing(
            f"{sitting.lost} trials in a row were lost, the last one because: {last}: mend that, then go on with "
            f"`autotune resume {sitting.settings.name}`; nothing was learned from them"
        )


def _over(sitting: Sitting) -> str:
    """Return why no further trial may be submitted, or nothing."""
    if not sitting.budget.left() or sitting.search_left_s() == 0.0:
        return "the budget is spent"
    first = list(known(sitting.trials).values())[1 : START_FAILURES + 1]
    if len(first) == START_FAILURES and all(isinstance(outcome, Infeasible) for outcome in first):
        return f"the first {START_FAILURES} configs all failed: is the space right?"
    return ""


def _submit(sitting: Sitting, proposal: Proposal, recipe: Recipe) -> Iterator[Event]:
    number = len(sitting.records)
    folder = sitting.folder.new_trial(number, proposal.config, recipe.fingerprint)
    record = TrialRecord(
        number=number, config=proposal.config, fingerprint=recipe.fingerprint, folder=folder, outcome=None
    )
    sitting.records[number] = record
    yield TrialStarted(number=number, changes=changes(record, sitting.space), standings=sitting.standings())
    asked = tuple(gate.searching() for gate in sitting.gates)
    plan = _plan(sitting, recipe, folder, asked, seed=sitting.settings.seed)
    sitting.running[sitting.dispatcher.submit(plan)] = Running(record, proposal)


def _collect(sitting: Sitting) -> Iterator[Event]:
    """
    Wait until a trial ends; tell what became of it.

    Emulated ones are told in their order once all have ended, so that what is proposed next depends on no clock.
    """
    done, _ = wait(sitting.running, return_when=ALL_COMPLETED if sitting.settings.emulation else FIRST_COMPLETED)
    for future in sorted(done, key=lambda each: sitting.running[each].record.number):
        running = sitting.running.pop(future)
        outcome = future.result()
        sitting.budget.spend(sum(outcome.seconds.values()) / sitting.dispatcher.slots)
        record = replace(running.record, outcome=outcome)
        outcomes.write(record.folder / "outcome.json", outcome)
        sitting.records[record.number] = record
        sitting.lost = sitting.lost + 1 if isinstance(outcome, Lost) else 0
        if again(record, sitting.trials):
            sitting.search.forget(running.proposal)
            if not _is_baseline(sitting, record):
                sitting.budget.trials += 1  # its config has not had its trial yet
            _retry(sitting, record)
        else:
            sitting.search.tell(running.proposal, outcome)
        yield TrialEnded(
            number=record.number,
            changes=changes(record, sitting.space),
            outcome=outcome,
            value=_value(sitting, outcome),
            standings=sitting.standings(),
        )


def _value(sitting: Sitting, outcome: Outcome) -> float | None:
    return value(outcome, sitting.space.objective) if isinstance(outcome, Measured) else None


def _retry(sitting: Sitting, record: TrialRecord) -> None:
    """Ask for a config again that was lost or stuck; the baseline is asked for by name."""
    if not _is_baseline(sitting, record):
        sitting.search.enqueue(record.config)


def _is_baseline(sitting: Sitting, record: TrialRecord) -> bool:
    return record.fingerprint == sitting.records[0].fingerprint


# --- confirmation ---------------------------------------------------------------------------------------------------


def _confirm(sitting: Sitting) -> Iterator[Event]:
    """Launch afresh, interleaved, until all that the budget has room for is known or launches keep being lost."""
    lost = 0
    while lost <= RETRIES["lost"]:
        step = _proof(sitting).next
        if step is None:
            return
        outcome = yield from _launch(sitting, step)
        lost = lost + 1 if isinstance(outcome, Lost) and not step.beside else 0


def _proof(sitting: Sitting) -> Proof:
    reference = reference_recipe(sitting.reference, sitting.space) if sitting.reference else None
    beside = arms_beside(sitting.space, reference)
    return prove(sitting.folder.trials(), sitting.folder.launches(), sitting.space, beside)


def _launch(sitting: Sitting, step: Step) -> Generator[Event, None, Outcome]:
    number = len(sitting.folder.launches())
    plan = _plan(
        sitting,
        step.recipe,
        sitting.folder.new_launch(number, step.arm, step.candidate, stage=step.stage),
        gates=tuple(confirming(sitting.gates, step.reference)) if step.judged else (),
        # all launches of a round get the same prompts, the next round fresh ones
        seed=sitting.settings.seed * 1000 + SEEDS[step.stage] + step.round + 1,
    )
    if sitting.reference and step.arm == REFERENCE:
        plan = replace(plan, space_folder=sitting.reference.folder)
    yield LaunchStarted(number=number, stage=step.stage, arm=step.arm, candidate=step.candidate)
    outcome = sitting.dispatcher.submit(plan).result()
    outcomes.write(plan.folder / "outcome.json", outcome)
    yield LaunchEnded(
        number=number,
        stage=step.stage,
        arm=step.arm,
        candidate=step.candidate,
        outcome=outcome,
        value=_value(sitting, outcome),
    )
    return outcome


def _plan(sitting: Sitting, recipe: Recipe, folder: Path, gates: tuple[Gate, ...], seed: int) -> Plan:
    return Plan(
        recipe=recipe,
        folder=folder.resolve(),
        space_folder=sitting.settings.space_folder,
        data_root=sitting.settings.data_root,
        emulation=sitting.settings.emulation,
        deadlines=sitting.space.deadlines,
        gates=gates,
        seed=seed,
    )
