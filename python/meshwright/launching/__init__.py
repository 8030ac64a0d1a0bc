# SPDX-License-Identifier: Apache-2.0
"""Imports runtime.processes jaxapi core.

The processes that `python -m meshwright.launch` starts on this machine.
"""
