"""The wheel: exactly these files, and they work from anywhere."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("autotune", "evals", "search_spaces", "trials")
SHIPPED = {".py", ".json", ".yaml", ".yml", ".jsonl", ".gguf", ".md", ".j2", ".typed"}

pytestmark = pytest.mark.wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as a release does."""
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_four_packages_and_nothing_else(wheel: Path) -> None:
    tracked = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == set(tracked.stdout.split())
    assert {Path(name).suffix for name in inside} <= SHIPPED


def test_the_installed_wheel_runs_from_the_root_folder(wheel: Path, demo_engine: Path, tmp_path: Path) -> None:
    """Its dependencies are those of this environment; its own packages can only come from the wheel."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    site = next(home.glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall", "--target", str(site)]
    subprocess.run([sys.executable, *install, str(wheel)], check=True, capture_output=True)
    for arguments, said in (["spaces"], "demo"), (["command", "demo"], str(site / "trials/engines/llama_server.py")):
        command = [str(home / "bin/python"), "-m", "autotune", *arguments, *data(arguments, demo_engine)]
        ran = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert said in ran.stdout


def data(arguments: list[str], root: Path) -> list[str]:
    """Say where the engine is to the command that starts one."""
    return ["--data-root", str(root)] if arguments[0] == "command" else []
