"""`autotune import` and `autotune diff` as a user meets them."""

import json
from pathlib import Path

from search_spaces import load
from tests.conftest import ROOT, Autotune

SCRIPTS = ROOT / "tests/data/scripts"
BAD_INPUT, DIFFERENT = 2, 11


def test_a_command_line_makes_the_round_trip(autotune: Autotune, tmp_path: Path) -> None:
    """Imported, printed by `autotune command`, and compared: the same."""
    program = tmp_path / "vllm"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    command = "VLLM_USE=1 vllm serve org/model -tp 4 --block-size=16 --compilation-config '{\"mode\": 3}'"
    assert autotune("import", command, "--concurrency", "4,64", "-o", "it.yaml", cwd=tmp_path).returncode == 0
    printed = autotune("command", "it.yaml", "--concurrency", "64", cwd=tmp_path, AUTOTUNE_VLLM=str(program))
    assert printed.returncode == 0, printed.stderr
    (tmp_path / "it.sh").write_text(printed.stdout)
    for a, b in ((command, "it.yaml"), (command, "it.sh"), ("it.yaml", "it.sh")):
        ran = autotune("diff", a, b, "--exit-code", cwd=tmp_path)
        assert (ran.returncode, ran.stdout.splitlines()[-1][:13]) == (0, "no difference"), ran.stdout


def test_a_script_makes_the_round_trip_at_every_concurrency(autotune: Autotune, tmp_path: Path) -> None:
    script = str(SCRIPTS / "moe_vllm.sh")
    given = [word for each in ("MODEL=org/model", "TP=4", "ISL=8192") for word in ("--set", each)]
    ran = autotune("import", script, *given, "--concurrency", "1,8,64", "-o", "moe.yaml", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "moe_vllm.sh: line 4: `check_env_vars MODEL TP CONC` is not run" in ran.stderr
    assert load(tmp_path / "moe.yaml").workload.concurrency == (1, 8, 64)
    given_a = [word if word != "--set" else "--set-a" for word in given]
    ran = autotune("diff", script, "moe.yaml", *given_a, "--exit-code", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "no difference at concurrency 1, 8, 64\n")


def test_without_a_file_the_space_is_printed(autotune: Autotune, tmp_path: Path) -> None:
    ran = autotune("import", "vllm serve org/model", cwd=tmp_path)
    assert ran.returncode == 0
    assert "summary: Imported from the command line\n" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_overwritten(autotune: Autotune, tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text("mine")
    ran = autotune("import", "vllm serve m", "-o", "it.yaml", cwd=tmp_path)
    assert (ran.returncode, (tmp_path / "it.yaml").read_text()) == (BAD_INPUT, "mine")
    assert "it.yaml is there already" in ran.stderr


def test_differences_are_printed_once_for_all_concurrencies(autotune: Autotune, tmp_path: Path) -> None:
    given = ["--set", "MODEL=m", "--set", "TP=8", "--concurrency", "1,8", "--exit-code"]
    sides = [str(SCRIPTS / "hybrid_atom.sh"), str(SCRIPTS / "hybrid_atom_elsewhere.sh")]
    cpu = ["--set-a", "TOTAL_CPU_DRAM_GB=257", "--set-b", "TOTAL_CPU_DRAM_GB=254"]
    ran = autotune("diff", *sides, *given, *cpu, cwd=tmp_path)
    assert ran.returncode == DIFFERENT
    assert ran.stdout == (
        "A | B at every concurrency\n"
        "  env AITER_LOG_LEVEL  WARNING | -\n"
        "A | B at concurrency 8\n"
        "  env LMCACHE_MAX_LOCAL_CPU_SIZE  32 | 31\n"
    )


def test_json_says_it_all(autotune: Autotune, tmp_path: Path) -> None:
    ran = autotune("diff", "vllm serve m --seed 0", "vllm serve n", "--json", "--exit-code", cwd=tmp_path)
    assert ran.returncode == DIFFERENT
    (point,) = json.loads(ran.stdout)["points"]
    assert point["concurrency"] is None
    assert [(each["kind"], each["a"], each["by_default"]) for each in point["differences"]] == [
        ("model", "m", False),
        ("option", "0", True),
    ]


def test_an_option_at_its_default_is_no_difference(autotune: Autotune, tmp_path: Path) -> None:
    ran = autotune("diff", "vllm serve m --seed 0", "vllm serve m", "--exit-code", cwd=tmp_path)
    assert ran.returncode == 0
    assert "--seed  0 | -  (the same, by the engine's default)" in ran.stdout


def test_a_concurrency_that_is_none_is_refused(autotune: Autotune, tmp_path: Path) -> None:
    ran = autotune("import", "vllm serve m", "--concurrency", "4,x", cwd=tmp_path)
    assert ran.returncode == BAD_INPUT
    assert "'x' is no concurrency; write whole numbers, as 4,16,64" in ran.stderr
