# SPDX-License-Identifier: Apache-2.0
"""Imports compiler core jaxapi.

Checks what users give to `make_config`.
"""
