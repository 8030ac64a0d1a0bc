# SPDX-License-Identifier: Apache-2.0
"""Checks what users give to `make_config`."""
