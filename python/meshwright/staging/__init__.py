# SPDX-License-Identifier: Apache-2.0
"""Imports schedules tracing jaxapi core.

From marks between stages to named computations.
"""
