# SPDX-License-Identifier: Apache-2.0
"""What both ends of a connection to the watchdog know; needs no JAX."""

from __future__ import annotations

import socket

from .failures import ProcessError

#: Exit code of a process that ends because another one failed.
EXIT_CODE = 70
BEATS_PER_TIMEOUT = 10


def keep_alive(connection: socket.socket, timeout: float) -> None:
    """Lets the system end a connection whose other host does not answer any more.

    A process there that is merely stopped still answers.
    """
    period = max(1, round(timeout / BEATS_PER_TIMEOUT))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux.
        tcp, limit = socket.IPPROTO_TCP, max(1000, round(1000 * timeout))
        connection.setsockopt(tcp, socket.TCP_USER_TIMEOUT, limit)
        connection.setsockopt(tcp, socket.TCP_KEEPIDLE, period)
        connection.setsockopt(tcp, socket.TCP_KEEPINTVL, period)
        connection.setsockopt(tcp, socket.TCP_KEEPCNT, BEATS_PER_TIMEOUT)


def hold_port(address: str) -> socket.socket:
    """Holds a port for this process's servers until the socket is closed.

    JAX's coordinator ends the process if its port is taken, and shares it with that
    of another run that the same user starts at the same moment: processes of the two
    would join each other. It can listen beside this socket, another run cannot have
    one for the port.
    """
    host, port = address.rsplit(":", 1)
    holder = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind((host.strip("[]"), int(port)))
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    except OSError as error:
        holder.close()
        raise ProcessError(
            f"process 0: the coordinator cannot listen on {address}: "
            f"{error.strerror}; choose another port"
        ) from error
    return holder
