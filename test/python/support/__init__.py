"""What tests, benches and comparisons with jaxlib share."""

import os

# Read when JAX starts: enough CPU devices for several meshes.
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "9")
