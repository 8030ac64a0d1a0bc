#!/usr/bin/env bash
# JAX 0.12.0.1, jax.experimental.transfer: who pulls says shape and type of what comes, and
# nothing compares that with what was offered. Bytes are copied as far as the request goes:
# float32 arrives as int32, or as twice as many bfloat16, without an error, and of two
# arrays that were offered the first comes where one is asked for. Only a request of more
# bytes than a buffer has fails, and a request of fewer does, too.
#
# Expected: an error that names both types, as with a request of fewer bytes.
# Seen:
#   as it is: [0. 1. 2. 3.]
#   as int32: [0 1065353216 1073741824 1077936128]
#   as 8 bfloat16: [0 0 0 1 0 2 0 3]
#   as 2 float32: JaxRuntimeError: INVALID_ARGUMENT: Invalid slicing of buffer size 8 ...
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5
program <<'PYTHON'
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import transfer

client = jax.devices()[0].client
giver, taker = (
    transfer.start_transfer_server(client, "127.0.0.1:0", ["127.0.0.1:0"])
    for _ in range(2)
)
connection = taker.connect(giver.address())
sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
offer = jnp.arange(4.0)
requests = {
    "as it is": ((4,), jnp.float32),
    "as int32": ((4,), jnp.int32),
    "as 8 bfloat16": ((8,), jnp.bfloat16),
    "as 2 float32": ((2,), jnp.float32),
}
arrived = []
for number, (name, (shape, dtype)) in enumerate(requests.items()):
    giver.await_pull(number, [offer])
    request = jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)
    try:
        (array,) = connection.pull(number, [request])
        print(f"{name}:", np.asarray(array))
        arrived.append(name)
    except RuntimeError as error:
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
sys.exit(0 if arrived == list(requests)[:3] else 1)
PYTHON
