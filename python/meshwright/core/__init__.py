# SPDX-License-Identifier: Apache-2.0
"""Data and small helpers that every room knows."""
