# SPDX-License-Identifier: Apache-2.0
"""Imports aot jaxapi core.

A program as read: checked, planned, step by step.
"""
