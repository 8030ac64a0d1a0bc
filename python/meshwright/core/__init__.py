# SPDX-License-Identifier: Apache-2.0
"""Imports nothing.

Data and small helpers that every room knows.
"""
