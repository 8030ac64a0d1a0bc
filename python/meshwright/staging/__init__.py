# SPDX-License-Identifier: Apache-2.0
"""From marks between stages to named computations."""
