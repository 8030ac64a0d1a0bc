# SPDX-License-Identifier: Apache-2.0
"""Imports lowering pipeline programs staging shardings tracing jaxapi core.

Stacked layers, each kept where its stage is: one lowering per group of them.
"""
