"""A port for a server of the tests stays its own before it starts and while it restarts."""

from __future__ import annotations

import errno
import socket
import sys

import pytest
from ports import free_port


@pytest.mark.skipif(sys.platform != "linux", reason="ports are held on Linux only")
@pytest.mark.parametrize("option", [socket.SO_REUSEADDR, getattr(socket, "SO_REUSEPORT", 0)])
def test_only_a_server_gets_a_port_that_was_given_away(option):
    port = free_port()
    for _ in range(2):  # the second is a restart
        with pytest.raises(OSError) as taken, socket.socket() as client:
            client.bind(("127.0.0.1", port))
        assert taken.value.errno == errno.EADDRINUSE
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, option, 1)
            server.bind(("127.0.0.1", port))
            server.listen()
            socket.create_connection(("127.0.0.1", port)).close()
