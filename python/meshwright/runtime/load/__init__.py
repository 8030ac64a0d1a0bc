# SPDX-License-Identifier: Apache-2.0
"""Imports runtime.program jaxapi core.

From the modules of fragments to executables on devices.
"""
