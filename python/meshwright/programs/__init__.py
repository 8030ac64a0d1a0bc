# SPDX-License-Identifier: Apache-2.0
"""What users hold: lowered, compiled and running programs, and what they tell."""
