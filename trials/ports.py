"""Ports on this machine, each leased to one engine at a time."""

import contextlib
import errno
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

HOST = "127.0.0.1"
LOWEST, HIGHEST = 10_000, 65_535
EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


class NoFreePort(Exception):
    """Every port of the range is leased or in use."""


@dataclass(frozen=True)
class Lease:
    """
    Ports that no other lease on this machine holds.

    Attributes:
        ports: Free when leased; nothing of ours listens on them.
        fds: To pass to a child; the lease lasts until the last copy of them is closed, in whichever process.
    """

    ports: tuple[int, ...]
    fds: tuple[int, ...]


@contextlib.contextmanager
def lease(count: int = 1) -> Iterator[Lease]:
    """
    Lease `count` ports of 127.0.0.1, for the block and for as long as a child keeps their descriptors open.

    A lease is a bound name in Linux's abstract socket namespace. It is scoped as the ports are (one network
    namespace, all its users), it passes to children as a descriptor, and the kernel drops it with its last holder.

    Raises:
        NoFreePort: Fewer than `count` are left.
    """
    with contextlib.ExitStack() as held:
        locks: dict[int, socket.socket] = {}
        for port in candidates(_ephemeral(), start=os.getuid()):
            if len(locks) == count:
                break
            if (lock := _locked(port)) is not None:
                locks[port] = held.enter_context(lock)
        if len(locks) < count:
            raise NoFreePort(f"{len(locks)} of {count} ports are free on {HOST}: end what holds the others")
        yield Lease(ports=tuple(locks), fds=tuple(lock.fileno() for lock in locks.values()))


def candidates(ephemeral: tuple[int, int], *, start: int = 0) -> list[int]:
    """
    Return the ports to try, in order: the wider side of the range from which the kernel takes ports for clients.

    Args:
        ephemeral: That range, both ends included. Where it leaves no room, it is used itself.
        start: Rotates the list by so many blocks of 64, so that two users rarely begin at the same port.
    """
    low, high = ephemeral
    below, above = range(LOWEST, low), range(max(high + 1, LOWEST), HIGHEST + 1)
    ports = max(below, above, key=len) or range(LOWEST, HIGHEST + 1)
    first = start * 64 % len(ports)
    return [*ports[first:], *ports[:first]]


def listeners(port: int) -> set[int]:
    """Return the pids that listen on a port; one whose process is another user's has none."""
    return {
        connection.pid
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
        and connection.laddr
        and connection.laddr.port == port
        and connection.pid
    }


def _ephemeral() -> tuple[int, int]:
    low, high = EPHEMERAL.read_text(encoding="ascii").split()
    return int(low), int(high)


def _locked(port: int) -> socket.socket | None:
    """Return a held lock on a port that can be bound, or None."""
    with contextlib.ExitStack() as closing:
        lock = closing.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        if not (_bound(lock, f"\0autotune/port/{port}") and _bindable(port)):
            return None
        closing.pop_all()
        return lock


def _bindable(port: int) -> bool:
    with socket.socket() as probe:
        return _bound(probe, (HOST, port))


def _bound(sock: socket.socket, address: str | tuple[str, int]) -> bool:
    try:
        sock.bind(address)
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            return False
        raise
    return True
