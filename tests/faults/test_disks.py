"""Disks that are full, or may only be read: said with what would help, and nothing measured is lost."""

import subprocess
from pathlib import Path

import pytest

from tests.fakes.bench import AUTOTUNE, Bench

DONE, UNFIT = 0, 3
OF_OUR_OWN = ["unshare", "--map-root-user", "--mount"]  # mounts that end with the command
FULL = """
set -e
mkdir studies
mount -t tmpfs -o size=2g none studies
{autotune} study fake.yaml --dispatcher local 2>said.full &
until [ -e studies/fake/trials/0000/outcome.json ]; do sleep 0.01; done
mount -o remount,size=6m studies
set +e
wait $!
echo $? >code.full
cp -r studies studies.full
mount -o remount,size=2g studies
{autotune} resume fake 2>said.resumed
echo $? >code.resumed
cp -r studies studies.resumed
"""
READ_ONLY = """
set -e
mount --bind studies studies
mount -o remount,bind,ro studies
set +e
exec {autotune} "$@"
"""


@pytest.fixture(autouse=True)
def _mounts() -> None:
    """Skip where a user may not mount anything, not even in a namespace of its own."""
    tried = subprocess.run([*OF_OUR_OWN, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("no mounts in a user namespace here")


def outcomes(studies: Path) -> dict[str, bytes]:
    """Return every outcome below a copy of the studies, by its trial."""
    return {path.parent.name: path.read_bytes() for path in studies.glob("fake/trials/*/outcome.json")}


def test_a_disk_that_an_engine_filled_ends_the_study_and_with_room_it_goes_on(bench: Bench) -> None:
    bench.write_space({"fault": {"flag": "--fault", "choice": ["none", "floods-its-log"]}}, {"fault": "none"})
    ran = bench.run("-c", FULL.format(autotune=AUTOTUNE), program=(*OF_OUR_OWN, "sh"))
    said, code = ((bench.home / name).read_text() for name in ("said.full", "code.full"))
    assert int(code) == UNFIT, ran.stdout + said
    assert "outcome.json" in said
    assert "No space left on device: free some space, then `autotune resume" in said
    assert "Traceback" not in said
    assert int((bench.home / "code.resumed").read_text()) == DONE, (bench.home / "said.resumed").read_text()
    before, after = outcomes(bench.home / "studies.full"), outcomes(bench.home / "studies.resumed")
    assert list(before) == ["0000"]
    assert after["0000"] == before["0000"]
    assert b'"kind": "measured"' in after["0002"]


def test_a_folder_that_may_only_be_read_is_named_with_what_would_help(bench: Bench) -> None:
    bench.write_space({"slow": {"flag": "--token-s", "choice": [0.001, 0.002]}}, {"slow": 0.001})
    begun = bench.run("study", "fake.yaml", "--trials", "0", "--dispatcher", "local")
    assert begun.returncode == DONE, begun.stderr
    for verb in (("study", "fake.yaml", "--name", "other"), ("resume", "fake")):
        ran = bench.run("-c", READ_ONLY.format(autotune=AUTOTUNE), "sh", *verb, program=(*OF_OUR_OWN, "sh"))
        assert ran.returncode == UNFIT, ran.stderr
        assert "Read-only file system: " in ran.stderr
        assert "Traceback" not in ran.stderr


def test_an_index_that_may_not_grow_is_said_and_made_anew_when_it_may(bench: Bench) -> None:
    bench.write_space({"slow": {"flag": "--token-s", "choice": [0.001, 0.002]}}, {"slow": 0.001})
    limited = (
        "sh",
        "-c",
        'ulimit -f 32; exec "$@"',
        "sh",
        str(AUTOTUNE),
    )  # of 512 or 1024 bytes: an empty index is larger
    ran = bench.run("study", "fake.yaml", "--trials", "0", "--dispatcher", "local", program=limited)
    assert ran.returncode == UNFIT, ran.stderr
    assert "study.db, the search's index: " in ran.stderr
    assert "Traceback" not in ran.stderr
    assert bench.run("resume", "fake").returncode == DONE
