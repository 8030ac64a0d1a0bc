# SPDX-License-Identifier: Apache-2.0
"""Imports compiler jaxapi core.

What annotations are while JAX traces: primitives, their bodies, loops.
"""
