# SPDX-License-Identifier: Apache-2.0
"""Imports schedules tracing jaxapi compiler core.

From marks between stages to named computations.
"""
