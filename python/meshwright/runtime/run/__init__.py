# SPDX-License-Identifier: Apache-2.0
"""Imports runtime.watch runtime.processes runtime.load runtime.program jaxapi core.

Issues the steps of a loaded program.
"""
