# SPDX-License-Identifier: Apache-2.0
"""Imports compiler jaxapi core.

Devices that are only described, by names such as `v5p:2x2x4` and `h100:16`.
"""
