# SPDX-License-Identifier: Apache-2.0
"""What a program would take: the result of `Lowered.simulate`."""

from .programs.simulation import SimulatedCollectives as SimulatedCollectives
from .programs.simulation import SimulatedEdge as SimulatedEdge
from .programs.simulation import SimulatedItem as SimulatedItem
from .programs.simulation import SimulatedMesh as SimulatedMesh
from .programs.simulation import SimulatedStep as SimulatedStep
from .programs.simulation import Simulation as Simulation
from .programs.simulation import draw as draw
from .programs.simulation import simulate as simulate
