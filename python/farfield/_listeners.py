"""Who listens on a port of this machine, as Linux says in ``/proc``."""

from __future__ import annotations

import os
import re
import socket
from typing import Iterator

#: The state of a listening socket in ``/proc/net/tcp``.
_LISTENS = "0A"


def free_port() -> int:
    """Return a port of the loopback interface that nobody has at present."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def other_than(session: int, port: int) -> int | None:
    """Return a process of another session that alone listens on ``port``; None if it is this session, or unknown."""
    sockets = set(_sockets(port))
    if not sockets:
        # On another machine, or in a network of its own.
        return None
    other = None
    for process in _processes():
        held = sockets.intersection(_held(process))
        if held and _session(process) == session:
            return None
        if held:
            other = process
            sockets -= held
    # One that nobody has, as far as can be seen, may be the server's.
    return None if sockets else other


def _sockets(port: int) -> Iterator[str]:
    """Yield the inodes of the sockets that listen on a port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as lines:
                rows = [line.split() for line in lines][1:]
        except OSError:
            continue
        for row in rows:
            if row[3] == _LISTENS and int(row[1].rpartition(":")[2], 16) == port:
                yield row[9]


def _processes() -> Iterator[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    yield from (int(name) for name in names if name.isdecimal())


def _session(process: int) -> int | None:
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stat:
            return int(stat.read().rpartition(")")[2].split()[3])
    except (OSError, ValueError, IndexError):
        return None


def _held(process: int) -> Iterator[str]:
    """Yield the inodes of a process's sockets; none of a process of another user."""
    folder = f"/proc/{process}/fd"
    try:
        numbers = os.listdir(folder)
    except OSError:
        return
    for number in numbers:
        try:
            found = re.fullmatch(r"socket:\[([0-9]+)\]", os.readlink(f"{folder}/{number}"))
        except OSError:
            continue
        if found:
            yield found[1]
