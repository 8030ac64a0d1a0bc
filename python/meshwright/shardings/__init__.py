# SPDX-License-Identifier: Apache-2.0
"""Imports core.

Shardings between the meshes of users, the reference mesh and the compiler.
"""
