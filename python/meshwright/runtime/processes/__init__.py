# SPDX-License-Identifier: Apache-2.0
"""Imports runtime.load runtime.program jaxapi core.

One program over several processes.
"""
