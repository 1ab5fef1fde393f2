"""Ports for servers that have to be told their port."""

from __future__ import annotations

import socket
import sys

_HELD: list[socket.socket] = []
_SHARED = [socket.SO_REUSEADDR, *([socket.SO_REUSEPORT] if sys.platform == "linux" else [])]


def free_ports(count: int) -> list[int]:
    """Ports at which nothing listens until this process listens, or a server that it starts.

    A port that was only looked for can be given to any connection before the server binds it, or while the server
    restarts. So each is held until the process ends: a socket is bound to it and does not listen. On Linux a server
    can listen beside it if it sets SO_REUSEADDR or SO_REUSEPORT, as servers do. Elsewhere the port is not held.
    """
    made = []
    for _ in range(count):
        one = socket.socket()
        for option in _SHARED:
            one.setsockopt(socket.SOL_SOCKET, option, 1)
        one.bind(("127.0.0.1", 0))
        made.append(one)
    ports = [one.getsockname()[1] for one in made]
    if sys.platform == "linux":
        _HELD.extend(made)
    else:
        for one in made:
            one.close()
    return ports


def free_port() -> int:
    return free_ports(1)[0]
