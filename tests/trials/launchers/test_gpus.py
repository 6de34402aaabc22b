"""Device nodes as a machine shows them."""

import os
from pathlib import Path

from trials.launchers.gpus import Gpus, gpus


def test_amds_nodes_come_with_the_groups_that_own_them(tmp_path: Path) -> None:
    (tmp_path / "dri").mkdir()
    for name, group in (("kfd", 109), ("dri/renderD128", 109), ("dri/card0", 44)):
        (tmp_path / name).touch()
        if os.geteuid() == 0:
            os.chown(tmp_path / name, -1, group)
    found = gpus(tmp_path)
    assert found.rocm == (tmp_path / "kfd", tmp_path / "dri")
    assert found.groups == ((44, 109) if os.geteuid() == 0 else tuple({os.getegid()} - {0}))
    assert not found.nvidia


def test_nvidias_driver_is_seen_by_its_control_node(tmp_path: Path) -> None:
    (tmp_path / "nvidiactl").touch()
    assert gpus(tmp_path) == Gpus(nvidia=True)


def test_a_machine_without_gpus_has_none(tmp_path: Path) -> None:
    assert gpus(tmp_path) == Gpus()
