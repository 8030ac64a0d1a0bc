# SPDX-License-Identifier: Apache-2.0
"""Imports runtime aot jaxapi core.

Issues the steps of a loaded program.
"""
