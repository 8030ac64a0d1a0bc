# SPDX-License-Identifier: Apache-2.0
"""Imports aot compiler jaxapi core.

A program as read: checked, planned, step by step.
"""
