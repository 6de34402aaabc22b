"""What a node has: enough is known of every one that a shipped space names."""

import pytest

from search_spaces import hardware_of, load, names


@pytest.mark.parametrize("name", names())
def test_the_hardware_of_every_shipped_space_is_known(name: str) -> None:
    assert hardware_of(load(name).target.hardware).source


def test_a_node_of_mi355x_holds_kimi_k3_and_half_of_one_does_not() -> None:
    node = hardware_of("mi355x")
    assert node.memory_gib is not None
    assert node.gpus_per_node == 8
    assert 4 * node.memory_gib * 2**30 < 1.561e12 < 8 * node.memory_gib * 2**30


def test_a_cpu_has_no_memory_to_count() -> None:
    assert hardware_of("cpu").memory_gib is None
