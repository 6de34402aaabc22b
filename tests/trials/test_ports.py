"""Leases of ports: disjoint, outside the kernel's own range, as long-lived as whoever holds the descriptor."""

import socket
import subprocess
import sys

import pytest

from trials.ports import HOST, candidates, lease


def test_leases_held_at_once_are_disjoint() -> None:
    with lease(3) as ours, lease(3) as theirs:
        assert len(set(ours.ports) | set(theirs.ports)) == 6


def test_a_leased_port_can_be_listened_on() -> None:
    with lease() as leased, socket.create_server((HOST, leased.ports[0])) as server:
        assert server.getsockname() == (HOST, leased.ports[0])


def test_a_port_in_use_is_not_leased() -> None:
    with lease() as first:
        (port,) = first.ports
    with socket.create_server((HOST, port)), lease() as second:
        assert port not in second.ports


def test_a_port_comes_back_when_its_lease_ends() -> None:
    with lease() as first:
        pass
    with lease() as second:
        assert second.ports == first.ports


def test_a_lease_outlives_its_block_in_a_child_that_holds_it() -> None:
    with lease() as first:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=first.fds)
    with child, lease() as second:
        assert second.ports != first.ports
    with lease() as third:
        assert third.ports == first.ports


@pytest.mark.parametrize(
    ("ephemeral", "lowest", "highest"),
    [
        pytest.param((32_768, 60_999), 10_000, 32_767, id="Linux's default leaves more room below"),
        pytest.param((10_240, 40_000), 40_001, 65_535, id="room above"),
        pytest.param((1_024, 65_535), 10_000, 65_535, id="no room at all"),
    ],
)
def test_ports_lie_outside_the_range_that_the_kernel_gives_to_clients(
    ephemeral: tuple[int, int], lowest: int, highest: int
) -> None:
    ports = candidates(ephemeral)
    assert (min(ports), max(ports)) == (lowest, highest)


def test_another_start_tries_the_same_ports_in_another_order() -> None:
    ports, rotated = candidates((32_768, 60_999)), candidates((32_768, 60_999), start=1000)
    assert rotated[0] == 10_000 + 64_000 % len(ports)
    assert sorted(rotated) == ports
