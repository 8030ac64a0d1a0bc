# SPDX-License-Identifier: Apache-2.0
"""What annotations are while JAX traces: primitives, their bodies, loops."""
