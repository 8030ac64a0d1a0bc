# SPDX-License-Identifier: Apache-2.0
"""A program as read: checked, planned, step by step."""
