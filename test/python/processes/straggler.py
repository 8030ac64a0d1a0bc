"""Process 1 does not come to its end while process 0 waits for it."""

import time

import meshwright as mw

TIMEOUT = 3.0
mw.distributed.initialize(timeout=TIMEOUT)

import jax  # noqa: E402

if jax.process_index() == 1:
    time.sleep(2 * TIMEOUT + 2)
print("through", flush=True)
