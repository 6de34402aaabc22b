"""What a space is shown beside: the engine's own defaults, and a reference."""

from collections.abc import Callable

import pytest

from search_spaces import SearchSpace, SpaceError, defaults, names, resolve
from search_spaces import load as load_space

Space = Callable[[str], SearchSpace]

FRAME = """
summary: a space of a test
target: {engine: vllm, model: m, hardware: mi355x}
workload: {input_tokens: 8, output_tokens: 8, concurrency: [4, 64], waves: 4}
serve: {args: [--max-model-len, 4096], env: {OMP_NUM_THREADS: 1}}
baseline: {tp: 4, seqs: 512, kv: fp8, prefix: false, cg: FULL, qr: INT4}
overrides: [{concurrency: {ge: 64}, set: {seqs: 1024}}]
knobs:
  tp: {layout: tp, choice: [4, 8]}
  seqs: {flag: --max-num-seqs, ordinal: [512, 1024]}
  kv: {flag: [--cache-type-k, --cache-type-v], choice: [auto, fp8]}
  prefix: {switch: --enable-prefix-caching}
  cg: {json: --compilation-config, path: cudagraph_mode, choice: [FULL, PIECEWISE]}
  qr: {env: QUICK_REDUCE, choice: [NONE, INT4]}
derived:
  ep: {layout: ep, value: $tp}
  graph: {flag: --graph-batch, value: {mul: [2, $concurrency]}}
gate: {task: sums, endpoint: completions, threshold: 0.9}
budget: {trials: 4, hours: 0.1, confirm_launches: 3}
deadlines: {ready_s: 10, stop_s: 2, request_s: 5}
"""


@pytest.fixture
def space(tmp_path_factory: pytest.TempPathFactory) -> Space:
    """Return a function that gives the space of the frame and a text."""

    def loaded(text: str) -> SearchSpace:
        path = tmp_path_factory.mktemp("spaces") / "beside.yaml"
        path.write_text(FRAME + text, encoding="utf-8")
        return load_space(path)

    return loaded


def test_defaults_keep_what_is_fixed_and_the_layout_and_nothing_else(space: Space) -> None:
    recipe = defaults(space(""))
    assert recipe.serve.args == ("--max-model-len", "4096")
    assert recipe.serve.layout == {"tp": 4, "ep": 4}
    assert recipe.serve.env == {"OMP_NUM_THREADS": "1", "QUICK_REDUCE": None}
    assert recipe.overrides == {}
    assert recipe.judged == {}


def test_defaults_say_of_each_knob_that_it_is_unset(space: Space) -> None:
    assert defaults(space("")).config == {
        "tp": 4,
        "seqs": "unset",
        "kv": "unset",
        "prefix": "unset",
        "cg": "unset",
        "qr": "unset",
    }


def test_a_space_may_keep_knobs_without_which_the_engine_does_not_serve(space: Space) -> None:
    recipe = defaults(space("defaults: {keep: [seqs, graph]}\n"))
    assert recipe.at(4).args[2:] == ("--max-num-seqs", "512", "--graph-batch", "8")
    assert recipe.at(64).args[2:] == ("--max-num-seqs", "1024", "--graph-batch", "128")


def test_defaults_are_another_recipe_than_the_baseline(space: Space) -> None:
    given = space("")
    assert defaults(given).fingerprint != resolve(given, given.baseline).fingerprint


@pytest.mark.parametrize("name", names())
def test_every_shipped_space_has_defaults(name: str) -> None:
    shipped = load_space(name)
    recipe = defaults(shipped)
    assert recipe.serve.gpus == resolve(shipped, shipped.baseline).serve.gpus


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("defaults: {keep: [sqs]}", r"defaults.keep: unknown knob 'sqs'; did you mean 'seqs'\?"),
        (
            "reference: {label: ATOM, source: a PR, figures: {5: 100.0}}",
            "reference.figures.5: not on the ladder 4, 64",
        ),
        ("reference: {label: ATOM, figures: {4: 100.0}}", "quoted figures need a source"),
        ("reference: {label: ATOM}", "write one"),
        ("reference: {label: ATOM, source: a PR, figures: {4: 100.0}, space: other.yaml}", "write one"),
        ("reference: {label: ATOM, space: ../other.yaml}", "leaves its folder"),
    ],
)
def test_what_is_wrong_is_said(space: Space, text: str, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        space(text + "\n")


def test_quoted_figures_are_read(space: Space) -> None:
    told = space("reference: {label: ATOM, source: a PR, figures: {4: 246.47, 64: 843.1}}\n").reference
    assert told is not None
    assert (told.figures, told.metric) == ({4: 246.47, 64: 843.1}, "total_tok_per_s_per_gpu")
