# SPDX-License-Identifier: Apache-2.0
"""Stacked layers, each kept where its stage is: one lowering per group of them."""
