# SPDX-License-Identifier: Apache-2.0
"""Rules between fragments, and where a schedule wants its stages."""
