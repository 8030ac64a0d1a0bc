# SPDX-License-Identifier: Apache-2.0
"""Imports runtime.processes runtime.program compiler core.

What a run did: its times, memory and traffic.
"""
