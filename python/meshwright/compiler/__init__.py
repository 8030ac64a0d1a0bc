# SPDX-License-Identifier: Apache-2.0
"""Imports core.

The only door to the extension `_meshwright`.
"""
