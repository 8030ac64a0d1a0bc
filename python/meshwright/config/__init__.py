# SPDX-License-Identifier: Apache-2.0
"""Imports compiler core.

Checks what users give to `make_config`.
"""
