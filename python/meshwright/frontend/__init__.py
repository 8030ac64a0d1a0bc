# SPDX-License-Identifier: Apache-2.0
"""Imports layers lowering programs pipeline config shardings tracing jaxapi core.

`mw.jit`: from a Python function to a lowered one.
"""
