# SPDX-License-Identifier: Apache-2.0
"""Imports aot compiler shardings runtime tracing jaxapi core.

What users hold: lowered, compiled and running programs, and what they tell.
"""
