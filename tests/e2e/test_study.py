"""A study of four configs on the real engine, from the command line to a completion from the winner."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from search_spaces import load, text
from tests.conftest import Autotune
from trials.ports import HOST, lease

pytestmark = [pytest.mark.engine, pytest.mark.ray, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def study(autotune: Autotune, demo_engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a study to its end; return its folder."""
    home = tmp_path_factory.mktemp("study")
    ran = autotune("study", str(four_configs(home)), cwd=home, timeout_s=500, AUTOTUNE_DATA=str(demo_engine))
    (home / "output").write_text(ran.stdout)
    assert ran.returncode == 0, ran.stderr
    return home / "studies/four"


def four_configs(home: Path) -> Path:
    """Write a space of a user's own: the demo's model, two knobs of two values, a short load and a short gate."""
    demo = load("demo")
    weights, adapter = demo.target.files["weights"], demo.target.files["adapter"]
    (home / "adapter.gguf").symlink_to(demo.folder / str(adapter.space))
    space = {
        "summary": "four configs",
        "target": {
            "engine": "llamacpp",
            "model": "four",
            "hardware": "cpu",
            "files": {"weights": {"data": weights.data}, "adapter": {"space": "adapter.gguf"}},
        },
        "workload": {
            "input_tokens": 32,
            "output_tokens": 16,
            "concurrency": [2],
            "waves": 4,
            "warmup_waves": 1,
            "window_sd": {2: 0.1},
        },
        "serve": {"args": ["--model", "${weights}", "--lora", "${adapter}", "--ctx-size", 1024, "--parallel", 2]},
        "baseline": {"threads": 1, "poll": 50},
        "knobs": {
            "threads": {"flag": "--threads", "choice": [1, 2]},
            "poll": {"flag": "--poll", "choice": [0, 50]},
        },
        "gate": {
            "task": "sums",
            "endpoint": "completions",
            "threshold": 0.9,
            "filters": ["strict-match", "flexible-extract"],
            "questions": {"search": 8, "confirm": 12},
            "smell": 4,
            "concurrency": 2,
            "max_tokens": 64,
        },
        "budget": {"trials": 10, "hours": 0.2, "confirm_launches": 2, "ablation_launches": 0, "regime_launches": 0},
        "deadlines": {"ready_s": 60, "stop_s": 10, "request_s": 60},
    }
    path = home / "four.yaml"
    path.write_text(text(space), encoding="utf-8")
    return path


def test_a_space_of_four_configs_ends_when_all_are_measured(study: Path) -> None:
    evidence = json.loads((study / "evidence.json").read_text())
    assert "every config of the space was measured" in (study.parents[1] / "output").read_text()
    configs = [trial["config"] for trial in evidence["trials"]]
    assert configs[0] == {"threads": 1, "poll": 50}
    assert len({json.dumps(config, sort_keys=True) for config in configs}) == 4
    assert {trial["outcome"]["kind"] for trial in evidence["trials"]} == {"measured"}


def test_the_winner_is_the_baseline_unless_a_win_was_confirmed(study: Path) -> None:
    evidence = json.loads((study / "evidence.json").read_text())
    assert (evidence["winner"]["trial"] != 0) == (evidence["result"] == "win")
    for candidate in evidence["candidates"]:
        if (comparison := candidate["comparison"]) and evidence["result"] == "win":
            assert comparison["overall"]["low"] > 0
    first = {gate["recipe"]: gate["verdict"] for gate in evidence["gates"]}
    assert all(each["answered"] == 12 for verdict in first.values() for each in verdict["filters"])


def test_every_trial_keeps_its_raw_data(study: Path) -> None:
    for trial in (study / "trials").iterdir():
        kept = {path.name for path in trial.iterdir()}
        assert kept >= {"command.sh", "engine.log", "requests.parquet", "answers.jsonl", "outcome.json", "trial.json"}


def test_status_reads_a_finished_study(study: Path, autotune: Autotune) -> None:
    ran = autotune("status", "four", cwd=study.parents[1])
    assert ran.returncode == 0
    assert "four: done, 4 trials ended" in ran.stdout


def test_a_finished_study_resumes_to_the_same_evidence_without_another_launch(
    study: Path, autotune: Autotune, demo_engine: Path
) -> None:
    written = (study / "evidence.json").read_bytes(), (study / "evidence.md").read_bytes()
    launches = sorted(study.glob("*/*/engine.log"))
    (study / "study.db").unlink()
    ran = autotune("resume", "four", cwd=study.parents[1], AUTOTUNE_DATA=str(demo_engine))
    assert ran.returncode == 0, ran.stderr
    assert sorted(study.glob("*/*/engine.log")) == launches
    assert ((study / "evidence.json").read_bytes(), (study / "evidence.md").read_bytes()) == written


def test_the_winners_command_starts_the_engine_by_hand_and_curl_gets_a_completion(
    study: Path, autotune: Autotune, demo_engine: Path
) -> None:
    with lease() as leased:
        (port,) = leased.ports
    arguments = ["command", str(study / "recipe.yaml"), "--port", str(port)]
    printed = autotune(*arguments, cwd=study.parents[1], AUTOTUNE_DATA=str(demo_engine))
    assert printed.returncode == 0, printed.stderr
    engine = subprocess.Popen(
        ["bash", "-c", f"exec {printed.stdout.splitlines()[-1]}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        body = json.dumps({"prompt": "The capital of France is", "max_tokens": 8})
        curl = ["curl", "--silent", "--fail", "--retry", "20", "--retry-all-errors", "--retry-delay", "1"]
        url = f"http://{HOST}:{port}/v1/completions"
        got = subprocess.run([*curl, url, "--json", body], capture_output=True, text=True, timeout=60, check=False)
        assert got.returncode == 0, got.stderr
        assert json.loads(got.stdout)["usage"]["completion_tokens"] == 8
    finally:
        engine.terminate()
        engine.wait(timeout=30)


def test_an_interrupted_study_leaves_no_engine_and_goes_on(
    autotune: Autotune, demo_engine: Path, tmp_path: Path
) -> None:
    """Ctrl-C in the middle of the baseline, which is then lost, and measured when the study goes on."""
    program, space = Path(sys.executable).with_name("autotune"), four_configs(tmp_path)
    command = [str(program), "study", str(space), "--trials", "0"]
    environment = {**os.environ, "AUTOTUNE_DATA": str(demo_engine)}
    driver = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, start_new_session=True)
    started = tmp_path / "studies/four/trials/0000/supervisor.json"
    deadline = time.monotonic() + 120
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    pids = [value for key, value in json.loads(started.read_text()).items() if key.endswith("_pid")]
    os.killpg(driver.pid, signal.SIGINT)  # a terminal sends it to every process of the command
    said, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert b"autotune resume four" in said
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)
    resumed = autotune("resume", "four", cwd=tmp_path, AUTOTUNE_DATA=str(demo_engine))
    assert resumed.returncode == 0, resumed.stderr
    outcomes = [
        json.loads(path.read_text())["kind"] for path in sorted(tmp_path.glob("studies/four/trials/*/outcome.json"))
    ]
    assert outcomes == ["lost", "measured"]
