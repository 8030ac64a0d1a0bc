# SPDX-License-Identifier: Apache-2.0
"""Shardings between the meshes of users, the reference mesh and the compiler."""
