# SPDX-License-Identifier: Apache-2.0
"""Imports nothing.

The only door to what JAX does not promise to keep.
"""
