# SPDX-License-Identifier: Apache-2.0
"""The only door to what JAX does not promise to keep."""
