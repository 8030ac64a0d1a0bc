"""What each process of a test imports as it starts: settings that make starts short.

To import JAX takes 0.7 s of processor time by default, and 0.4 s with these; tests do
it hundreds of times.
"""

import atexit
import gc
import os

# By default Python looks for garbage after every 700 new objects.
gc.set_threshold(50_000)
# At its end it would look for garbage twice more, among objects that end with it.
atexit.register(gc.freeze)
# NumPy's threads of linear algebra would wait for work in a loop.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
