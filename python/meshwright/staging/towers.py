# SPDX-License-Identifier: Apache-2.0
"""Towers of stages: their meshes, and how the compiler knows them.

A schedule for a graph of stages is named with the graph (meshwright/Schedule/
StageGraph.h): `Towers:vision:2@0+1=GPipe;text:2@2+3=1F1B;vision.1>text.0`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ..compiler import native
from ..core.config import Config, Tower
from ..core.names import is_cpu_mesh, unknown_name
from ..schedules.assignment import stage_assignment
from .assign import Graph

_UNORDERED = "None"
_OF_GRAPHS = ("Towers", "auto")


def _check_names(config: Config, graph: Graph) -> None:
    """Each tower of the marks must be configured, and the other way round."""
    given, marked = config.towers or {}, [tower.name for tower in graph.towers]
    for tower in graph.towers:
        if tower.name not in given:
            what = f"{tower.place}: stage_boundary: tower"
            raise ValueError(
                unknown_name(what, tower.name, given)
                + "; towers= of make_config has the meshes of each"
            )
    for name in given:
        if name not in marked:
            raise ValueError(
                f"towers: {name!r} has no mark in the function, which has "
                f"{', '.join(map(repr, marked))}; mark its stages with "
                f"mw.stage_boundary(x, tower={name!r})"
            )


def place_towers(config: Config, graph: Graph, meshes: Sequence[str]) -> dict[int, str]:
    """The mesh of each stage, one of those that take part in schedules."""
    count = sum(tower.count for tower in graph.towers)
    if config.towers is None:
        if count > len(meshes):
            listed = ", ".join(f"{t.name} {t.count}" for t in graph.towers)
            raise ValueError(
                f"{graph.towers[0].place}: stage_boundary: the towers have {count} "
                f"stages ({listed}), but the topology has {len(meshes)} meshes; say "
                "which meshes each tower has with towers= of make_config"
            )
        return dict(enumerate(meshes[:count]))
    _check_names(config, graph)
    places: dict[int, str] = {}
    for tower in graph.towers:
        own = config.towers[tower.name]
        try:
            found = stage_assignment(own.schedule, own.meshes, tower.count)
        except ValueError as error:
            raise ValueError(
                f"{tower.place}: stage_boundary: tower {tower.name!r} has "
                f"{tower.count} stages for {len(own.meshes)} meshes: {error}; move its "
                "marks, or give it other meshes"
            ) from None
        first = len(places)
        places |= {first + stage: mesh for stage, mesh in found.items()}
    return places


def _meshes(config: Config, tower: str, places: Sequence[str]) -> Sequence[str]:
    return places if config.towers is None else config.towers[tower].meshes


def with_towers(config: Config, graph: Graph, places: Mapping[int, str]) -> Config:
    """A config whose schedule knows the graph."""
    if config.schedule == _UNORDERED and config.pipeline_schedule is None:
        return config
    if config.schedule not in _OF_GRAPHS:
        raise ValueError(
            f"pipeline schedule {config.schedule} supports one chain of stages, but "
            f"the marks have towers {', '.join(tower.name for tower in graph.towers)}; "
            "take Towers, with the schedule of each in towers=, or auto"
        )
    numbers = {
        mesh: number
        for number, mesh in enumerate(m for m in config.topology if not is_cpu_mesh(m))
    }
    entries, names, first = [], [], 0
    for tower in graph.towers:
        own = [places[first + stage] for stage in range(tower.count)]
        meshes = "+".join(
            str(numbers[mesh]) for mesh in _meshes(config, tower.name, own)
        )
        schedule = (config.towers or {}).get(tower.name, Tower(own)).schedule
        entries.append(f"{tower.name}:{tower.count}@{meshes}={schedule}")
        names += [f"{tower.name}.{stage}" for stage in range(tower.count)]
        first += tower.count
    entries += [f"{names[giver]}>{names[reader]}" for giver, reader in graph.feeds]
    feeding = {graph.place(giver)[0].name for giver, _ in graph.feeds}
    entries += [f"{t.name}>" for t in graph.towers[:-1] if t.name not in feeding]
    name = f"{config.schedule}:{';'.join(entries)}"
    native.extension().splits_backward(name)  # Says why, if it is none.
    return dataclasses.replace(config, schedule_name=name)
