# SPDX-License-Identifier: Apache-2.0
"""Which meshes, stages and schedule a model should have (`meshwright plan`)."""

from .programs.planning import Candidate as Candidate
from .programs.planning import Plan as Plan
from .programs.planning import plan as plan
