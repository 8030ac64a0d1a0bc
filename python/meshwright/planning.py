# SPDX-License-Identifier: Apache-2.0
"""Which meshes, stages and schedule a model should have (`meshwright plan`)."""

from .programs.planning import Candidate, Plan, plan

__all__ = ["Candidate", "Plan", "plan"]
