"""Tables of what follows a verdict: nothing within noise has a claim, and every figure says where it is from."""

import re
from dataclasses import replace

import pytest

from autotune.ablate import Ablation, ablate
from autotune.confirm import Beside, compared, conclude
from autotune.evidence import explained
from autotune.evidence.raw import Sources
from autotune.evidence.words import CHINESE, ENGLISH
from autotune.pooled import Change
from autotune.proof import Proof
from search_spaces import Objective, Reference, SearchSpace
from tests.autotune.conftest import Loaded
from tests.autotune.studies import MEMORY, launch, launches, trial, unjudged
from tests.autotune.truths import KNOBS, World, budgeted, fastest
from tests.support import measured, verdict


@pytest.fixture
def knobs(loaded: Loaded) -> SearchSpace:
    """Return a space of eight switches."""
    return budgeted(loaded(KNOBS), ablation_launches=40, regime_launches=12, confirm_launches=6)


@pytest.fixture
def proof(knobs: SearchSpace) -> Proof:
    """Return a study in which two knobs pay everywhere, two nowhere, and another one only at one concurrency."""
    world = World(knobs, {"a": {1: 0.02, 2: 0.30}, "b": 0.06, "c": {1: 0.15, 2: -0.15}}, sd=0.004)
    return world.finish(fastest(world.searched(best="abgh")))


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (None, ""),
        (Change(0.097, 0.081, 0.113), "+9.7 % (+8.1 to +11.3)"),
        (Change(0.003, -0.009, 0.015), "+0.3 % (-0.9 to +1.5), tie within noise"),
        (Change(0.013, -0.009, 0.035), "+1.3 % (-0.9 to +3.5), undecided"),
        (Change(0.013, None, None), "+1.3 %, too few launches for an interval"),
    ],
)
def test_a_cell_is_a_percentage_with_its_interval_and_says_what_is_within_noise(
    change: Change | None, shown: str
) -> None:
    assert explained.change(change) == shown


def test_an_ablation_has_a_row_for_each_setting_and_a_column_for_each_concurrency(proof: Proof) -> None:
    assert proof.ablation is not None
    table = explained.ablation(proof.ablation, (1, 2))
    assert list(table.columns) == ["setting", "1", "2", "all, geometric mean", "launches"]
    settings = list(table["setting"])
    assert "trial 25 without a" in settings
    assert "baseline with a" in settings
    without = table[table["setting"] == "trial 25 without a"].iloc[0]
    assert without["1"].startswith("-")
    assert without["2"].startswith("-2")


def test_each_knob_has_what_it_brings_and_what_becomes_of_it(proof: Proof) -> None:
    assert proof.ablation is not None
    table = explained.parts(proof.ablation)
    said = dict(zip(table["knob"], table["verdict"], strict=True))
    assert said["a"] == "brings more than noise: kept"
    assert said["g"] == "nothing measurable"
    assert next(iter(table["baseline"])) == "false"


def grouped(knobs: SearchSpace, **effects: float) -> Ablation:
    """Return an ablation whose budget undoes one knob alone and the others at once, where these knobs do something."""
    few = budgeted(knobs, ablation_launches=7)
    world = World(few, {"a": 0.30, **effects}, sd=0.004)
    tried = world.searched(best="abcde")
    found = ablate(tried[-1], tried, world.apart(tried[-1], tried), few)
    assert found is not None
    return found


def test_a_knob_that_was_only_undone_with_others_claims_nothing_for_itself(knobs: SearchSpace) -> None:
    found = grouped(knobs, b=0.12)
    table = explained.parts(found).set_index("knob")
    assert [part.group for part in found.parts if part.knob == "a"] == [()]
    assert {part.verdict for part in found.parts if part.group} == {"brings together"}
    assert not set("bcde") & set(found.dropped)
    for knob in "bcde":
        assert table.loc[knob, "verdict"] == "not told apart: kept"
        assert str(table.loc[knob, "brings"]).startswith("as one of a group of 4 that together bring +1")
    (told,) = explained.grouped(found)
    assert re.fullmatch(
        r"b, c, d, e: judged as one group of 4 only, which together bring \+1\S+ % \(.+\), more than noise; "
        r"they are not told apart\.",
        ENGLISH(told),
    )
    assert "未逐项区分" in CHINESE(told)


def test_of_a_group_that_costs_no_knob_is_said_to_cost(knobs: SearchSpace) -> None:
    found = grouped(knobs, b=-0.12)
    table = explained.parts(found).set_index("knob")
    assert set(found.dropped) == set("bcde")
    assert {table.loc[knob, "verdict"] for knob in "bcde"} == {"not told apart: they cost"}


def test_a_group_without_which_the_engine_does_not_run_is_told_as_one(knobs: SearchSpace) -> None:
    found = grouped(knobs)
    parts = tuple(
        replace(part, verdict="needed together", gain=None, because="without all of them: out of memory")
        if part.group
        else part
        for part in found.parts
    )
    needed = replace(found, parts=parts)
    assert list(explained.parts(needed)["brings"])[1] == "as one of a group of 4: without all of them: out of memory"
    (told,) = explained.grouped(needed)
    assert ENGLISH(told).endswith("they are not told apart. No number: without all of them: out of memory.")


def test_a_concurrency_that_is_overridden_is_told_with_its_own_comparison(proof: Proof, knobs: SearchSpace) -> None:
    table = explained.regimes(proof.regimes, proof.config, knobs)
    (row,) = table[table["concurrency"] == "1"].to_dict("records")
    assert row["verdict"] == "faster there: overrides the recipe"
    assert "c=true" in row["differs in"]
    assert row["change there"].startswith("+1")


def test_the_engines_own_defaults_stand_beside_the_recipe(proof: Proof) -> None:
    table = explained.defaults(proof.beside, "recipe")
    assert list(table["concurrency"]) == ["1", "2", "all, geometric mean"]
    assert list(table.columns) == ["concurrency", "the engine's own defaults", "recipe", "change", "verdict"]
    assert list(table["verdict"])[-1] == "win"


def test_a_tie_with_the_engines_own_defaults_is_called_one() -> None:
    alike = compared(launches("ABBABA", 100.0, 100.1, 100.0, 100.1, 100.05, 100.0), "A", "B", Objective())
    table = explained.defaults([Beside(arm="D", launches=(), comparison=alike, out=None)], "recipe")
    assert set(table["verdict"]) == {"tie"}


def test_each_known_recipe_has_what_became_of_it(loaded: Loaded) -> None:
    names = {"wins": "a: true", "slower": "b: true", "wrong": "c: true", "crashes": "d: true", "new": "e: true"}
    known = "".join(f"  - {{name: {name}, set: {{{changed}}}}}\n" for name, changed in names.items())
    space = loaded(f"{KNOBS}known:\n{known}")
    trials = [
        trial(space, 0, measured(100.0, 100.0, gate=verdict(64))),
        trial(space, 1, measured(130.0, 130.0, gate=verdict(64)), a=True),
        trial(space, 2, measured(90.0, 90.0, gate=verdict(64)), b=True),
        trial(space, 3, measured(140.0, 140.0, gate=verdict(40, result="fail")), c=True),
        trial(space, 4, MEMORY, d=True),
    ]
    conclusion = conclude(trials, launches("ABBA", 100.0, 130.0, 130.1, 100.1), space)
    raw = {one.folder: Sources(()) for one in trials}
    table = explained.known(space, trials, conclusion, 100.0, raw)
    assert list(table.columns) == ["recipe", "trial", "outcome", "objective", "change", "gate", "verdict", "raw data"]
    assert dict(zip(table["recipe"], table["verdict"], strict=True)) == {
        "wins": "the winner",
        "slower": "not confirmed: another one looked faster in the search",
        "wrong": "not confirmed: its gate is not passed",
        "crashes": "out: not measured",
        "new": "not tried",
    }
    assert list(table["change"]) == ["+30.0 %", "-10.0 %", "+40.0 %", "", ""]
    crashed = conclude(trials, [*launches("A", 100.0), launch(1, "B", MEMORY)], space)
    assert explained.known(space, trials, crashed, 100.0, raw)["verdict"][0] == "out: memory: out of memory"
    tied = conclude(trials, launches("ABBA", 100.0, 100.1, 100.0, 100.1), space)
    assert explained.known(space, trials, tied, 100.0, raw)["verdict"][0] == "confirmed: tie"


def test_a_published_figure_is_quoted_with_its_source() -> None:
    told = Reference(label="ATOM", source="InferenceX #2213", figures={1: 200.0, 2: 400.0})
    table = explained.reference(told, [unjudged(190.0, 404.0), unjudged(190.0, 404.0)], [])
    assert list(table["ATOM, total_tok_per_s_per_gpu"]) == ["200.00", "400.00"]
    assert list(table["recipe / ATOM"]) == ["95.00%", "101.00%"]
    assert set(table["reference"]) == {"quoted: InferenceX #2213"}


def test_a_reference_that_was_launched_is_measured_here() -> None:
    told = Reference(label="ATOM", space="atom.yaml")
    table = explained.reference(told, [unjudged(100.0, 100.0)], [unjudged(80.0, 125.0), unjudged(80.0, 125.0)])
    assert list(table["recipe / ATOM"]) == ["125.00%", "80.00%"]
    assert set(table["reference"]) == {"measured here, 2 launches"}


def test_a_concurrency_without_a_published_figure_has_no_row() -> None:
    told = Reference(label="ATOM", source="a PR", figures={2: 400.0})
    assert list(explained.reference(told, [unjudged(190.0, 404.0)], [])["concurrency"]) == ["2"]
