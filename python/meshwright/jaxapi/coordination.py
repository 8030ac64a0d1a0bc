# SPDX-License-Identifier: Apache-2.0
"""Where jaxlib has JAX's coordination service; needs no JAX."""

#: The module of `get_distributed_runtime_service`, which needs no other, so that the
#: launcher can start it without JAX. It is part of the table in `names`.
MODULE = "jaxlib._jax"
