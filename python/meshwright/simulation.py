# SPDX-License-Identifier: Apache-2.0
"""What a program would take: the result of `Lowered.simulate`."""

from .programs.simulation import (
    SimulatedCollectives,
    SimulatedEdge,
    SimulatedItem,
    SimulatedMesh,
    SimulatedStep,
    Simulation,
    draw,
    simulate,
)

__all__ = [
    "SimulatedCollectives",
    "SimulatedEdge",
    "SimulatedItem",
    "SimulatedMesh",
    "SimulatedStep",
    "Simulation",
    "draw",
    "simulate",
]
