# SPDX-License-Identifier: Apache-2.0
"""Imports pipeline programs staging schedules compiler shardings tracing jaxapi core.

From a traced function to a partitioned program.
"""
