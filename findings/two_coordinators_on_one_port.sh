#!/usr/bin/env bash
# JAX 0.12.0.1 (and 0.10.2): a port on which the coordinator of one run listens is not
# taken for that of another run. Both services of `jax.distributed` start, without an
# error or a warning, since gRPC shares ports between sockets of one user; which of the
# two a process then reaches is the kernel's choice. Two runs that are started with the
# same address, such as a default, may have their processes join each other. Any other
# program is refused the port.
#
# Expected: the second service says that the address is in use.
# Seen:
#   a second socket: Address already in use
#   a second coordinator: started
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5
program <<'PYTHON'
import socket
import sys

from jax._src.lib import _jax


def start(address):
    """What `jax.distributed.initialize` starts in process 0."""
    return _jax.get_distributed_runtime_service(address, 2)


with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
first = start(f"127.0.0.1:{port}")
try:
    with socket.create_server(("127.0.0.1", port)):
        refused = False
except OSError as error:
    refused = True
    print("a second socket:", error.strerror.split(" (")[0])
try:
    second = start(f"127.0.0.1:{port}")
    print("a second coordinator: started")
    second.shutdown()
except RuntimeError as error:
    second = None
    print("a second coordinator:", str(error).splitlines()[0])
first.shutdown()
sys.exit(not (refused and second is not None))
PYTHON
