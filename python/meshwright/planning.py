# SPDX-License-Identifier: Apache-2.0
"""Which meshes, stages and schedule a model should have (`meshwright plan`)."""

from .programs.planning import Plan, plan

__all__ = ["Plan", "plan"]
