# SPDX-License-Identifier: Apache-2.0
"""Meshes and stages by the paths of parameters."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from .names import check_type, mesh_without_memory_kind

# What holds a value and is no part of its path: an NNX variable.
_HOLDERS = ("value", "raw_value")
# What a regular expression may begin with, such as (?i).
_FLAGS = re.compile(r"(?:\(\?[aimsux]+\))?")


def path_text(path: Sequence[Any]) -> str:
    """A path of JAX's tree functions, such as `layers/0/kernel`."""
    parts = [
        str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key))))
        for key in path
    ]
    if (
        parts
        and parts[-1] in _HOLDERS
        and isinstance(path[-1], jax.tree_util.GetAttrKey)
    ):
        del parts[-1]
    return "/".join(parts)


class _Place(NamedTuple):
    pattern: re.Pattern[str]
    mesh: str
    stage: int
    is_given: bool  # The stage, rather than counted.


@dataclasses.dataclass(frozen=True)
class ByPath:
    """What lives where, by path; what `by_path` returns.

    For `make_config` in place of a dict of names: computations and tensors whose
    name is a path that matches, and arguments and results at such a path, get the
    mesh; computations also get the stage.

    Attributes:
      places: patterns with mesh and stage, first to last.
    """

    places: tuple[_Place, ...]

    def _find(self, path: str) -> _Place | None:
        """The first pattern that matches the path, or what it ends in."""
        parts = path.split("/")
        tails = ["/".join(parts[start:]) for start in range(len(parts))]
        for place in self.places:
            if any(map(place.pattern.fullmatch, tails)):
                return place
        return None

    def mesh(self, path: str) -> str | None:
        """The mesh of what is at a path, or None if no pattern matches."""
        place = self._find(path)
        return place and place.mesh

    def stage(self, path: str) -> int | None:
        """The stage of what is at a path, or None if no pattern matches."""
        place = self._find(path)
        return None if place is None else place.stage

    def meshes(self, tree: Any) -> Any:
        """The mesh of every leaf of a pytree, by its path; None without one."""
        return jax.tree.map_with_path(lambda path, _: self.mesh(path_text(path)), tree)

    @property
    def mesh_names(self) -> list[str]:
        """All meshes, in the order of the patterns, each once."""
        return list(dict.fromkeys(place.mesh for place in self.places))

    def assignment(
        self, names: Iterable[str], scheduled: bool
    ) -> dict[str, str | tuple[str, int]]:
        """Places of the names that match, of computations and tensors.

        Args:
          names: what is looked for.
          scheduled: whether a schedule needs stages; without one a name may occur
            often, so it has a stage only if that was given.

        Returns:
          Name to mesh, or to mesh and stage.
        """
        found = {name: self._find(name) for name in names}
        return {
            name: (place.mesh, place.stage)
            if scheduled or place.is_given
            else place.mesh
            for name, place in found.items()
            if place is not None
        }


def by_path(places: Mapping[str, str | tuple[str, int]]) -> ByPath:
    """Says what lives where by the paths of parameters.

    One mapping in place of three: `make_config(topology, by_path({...}))` finds the
    mesh of every named computation whose name is a path, its stage, and the mesh of
    all arguments and results with such a path in their tree: parameters, their
    gradients, an optimizer's moments.

    Args:
      places: regular expression of paths such as `layers/0/kernel` to the name of
        the mesh, in the order of the pipeline. It has to match a path, the end of
        one from a slash on, or what a path begins with up to a slash: `layers/0`
        matches all that is in it, also in `opt_state/mu/layers/0/kernel`. The
        first one that matches counts. For a schedule, patterns in a row
        with one mesh are one stage; a pair of mesh and stage says otherwise.

    Returns:
      What goes into `make_config`.

    Raises:
      TypeError: neither meshes nor pairs of mesh and stage, or both, or a pattern
        that is no string.
      ValueError: no pattern, or one that is no regular expression.

    Example:

      >>> places = by_path({"embed|layers/[01]": "m0", "layers/.*": "m1", "head": "m1"})
      >>> places.mesh("layers/1/kernel"), places.mesh("opt/0/mu/layers/2/bias")
      ('m0', 'm1')
      >>> places.stage("layers/2"), places.stage("head/kernel"), places.mesh("step")
      (1, 1, None)
    """
    example = "{'layers/[0-3]/.*': 'm0'}"
    check_type(f"by_path: must be a dict, such as {example}", places, Mapping)
    if not places:
        raise ValueError("by_path: needs at least one pattern, got none")
    pairs = {pattern: isinstance(place, tuple) for pattern, place in places.items()}
    if len(set(pairs.values())) > 1:
        plain = next(pattern for pattern, is_pair in pairs.items() if not is_pair)
        raise TypeError(
            f"by_path: {plain!r} has a mesh alone and others have a stage, too; give "
            "either meshes, or a pair of mesh and stage for every pattern"
        )
    found: list[_Place] = []
    stage = -1
    for pattern, place in places.items():
        check_type("by_path: a pattern must be a string", pattern, str)
        if isinstance(place, str):
            before = mesh_without_memory_kind(found[-1].mesh) if found else None
            stage += mesh_without_memory_kind(place) != before
            mesh = place
        else:
            mesh, stage = _pair(pattern, place)
        try:
            flags = _FLAGS.match(pattern)[0]  # Only at the start.
            rest = pattern.removeprefix(flags)
            compiled = re.compile(rf"{flags}(?:{rest})(?:/.*)?")
        except re.error as error:
            raise ValueError(
                f"by_path: {pattern!r} is no regular expression: {error}"
            ) from None
        found.append(_Place(compiled, mesh, stage, not isinstance(place, str)))
    return ByPath(tuple(found))


def _pair(pattern: str, place: Any) -> tuple[str, int]:
    match place:
        case tuple((str(), int(stage))) if stage >= 0 and type(stage) is not bool:
            return place
    raise TypeError(
        f"by_path: {pattern!r} must have the name of a mesh, or a pair of that and a "
        f"stage of 0 or more, got {place!r}"
    )
