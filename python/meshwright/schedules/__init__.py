# SPDX-License-Identifier: Apache-2.0
"""Imports compiler core.

Rules between fragments, and where a schedule wants its stages.
"""
