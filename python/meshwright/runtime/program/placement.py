# SPDX-License-Identifier: Apache-2.0
"""Where the values of a program live: mesh, split, memory kind.

A program names axes and parts of axes ("the first half of x"); JAX names whole
axes of a `Mesh`. A sharding with parts therefore lives on a refined mesh: the
same devices, with the axis cut into several.
"""

from __future__ import annotations

import collections
import functools
import logging
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import ml_dtypes
import numpy as np
from jax.sharding import Mesh, NamedSharding

from ...aot.sizes import array_bytes
from ...core.names import named_sharding
from ...jaxapi import described
from ...jaxapi import runtime as jax_runtime
from .errors import ProgramError

_logger = logging.getLogger(__name__)

_DTYPES = {
    "i1": np.bool_,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
    **{f"i{n}": getattr(np, f"int{n}") for n in (8, 16, 32, 64)},
    **{f"ui{n}": getattr(np, f"uint{n}") for n in (8, 16, 32, 64)},
    **{f"i{n}": getattr(ml_dtypes, f"int{n}") for n in (2, 4)},
    **{f"ui{n}": getattr(ml_dtypes, f"uint{n}") for n in (2, 4)},
}
_GPUS = ("gpu", "cuda", "rocm")
_FLOAT_PREFIXES = {"f4E": "float4_e", "f6E": "float6_e", "f8E": "float8_e"}


@functools.cache
def parse_dtype(text: str) -> np.dtype:
    """The NumPy type of an MLIR element type such as `f32`, `ui8`, `f8E4M3FN`."""
    found = _DTYPES.get(text)
    for prefix, name in _FLOAT_PREFIXES.items():
        if text.startswith(prefix):
            found = getattr(ml_dtypes, name + text[len(prefix) :].lower(), None)
    if found is None:
        raise ProgramError(f"element type {text!r} has no NumPy type")
    return np.dtype(found)


class AxisPart(NamedTuple):
    """`size` consecutive steps of an axis, after `pre` bigger ones; or all of it."""

    axis: str
    pre: int
    size: int


class Split(NamedTuple):
    """The axes that split each dimension, major to minor; axes to be summed over."""

    dims: tuple[tuple[AxisPart, ...], ...]
    unreduced: tuple[AxisPart, ...] = ()


class Place:
    """One mesh, memory kind, type and split; equal ones are the same object.

    Attributes:
      sharding: the NamedSharding that arrays in this place carry.
      aval: the abstract value of such arrays.
      handler: makes such an array from the buffers of a launch.
    """

    def __init__(self, mesh: ProgramMesh, element: str, shape, split: Split, kind):
        self.mesh, self.element, self.shape = mesh, element, shape
        self.split, self.kind = split, kind
        self.dtype = parse_dtype(element)
        self.sharding = mesh.sharding(split, kind)
        self.aval = jax_runtime.make_aval(shape, self.dtype, self.sharding)
        self.handler = jax_runtime.make_handler(self.aval, self.sharding)
        self.hlo = jax_runtime.hlo_sharding(self.sharding, len(shape))
        # Descriptions of GPUs make shardings forget their kind of memory.
        self.memory = kind or mesh.default_kind
        self._bytes: dict[tuple[int, ...], int] = {}

    @property
    def _device(self) -> Any | None:
        """A device that knows how it keeps arrays; None if none of them is here."""
        if self.mesh.is_described:
            return self.mesh.devices[0]
        local = self.sharding.addressable_devices
        return next((d for d in self.mesh.devices if d in local), None)

    def device_bytes(self, order: tuple[int, ...] = ()) -> int:
        """Bytes that one shard takes, with the padding of a device's tiles.

        Args:
          order: of dimensions, from major to minor; without, as the device has it.
        """
        if order not in self._bytes:
            shard = self.sharding.shard_shape(self.shape)
            device = self.mesh.devices[0]
            self._bytes[order] = array_bytes(device, self.dtype, shard, order)
        return self._bytes[order]

    @functools.cached_property
    def default_order(self) -> tuple[int, ...]:
        """Dimensions from major to minor, where nothing says otherwise."""
        if self._device is None:  # Its elements are never here.
            return tuple(range(len(self.shape)))
        shard = self.sharding.shard_shape(self.shape)
        return jax_runtime.default_order(self._device, self.dtype, shard)

    def splits_like(self, other: Place) -> bool:
        """Whether shard i of both is the same part of the array."""
        if len(self.mesh.devices) != len(other.mesh.devices):
            return False
        return len(self.mesh.devices) == 1 or jax_runtime.same_hlo_sharding(
            self.hlo, other.hlo
        )

    def same(self, other: Place) -> bool:
        """Whether an array in one place is, unchanged, an array in the other."""
        return self is other or (
            self.mesh is other.mesh
            and self.memory == other.memory
            and self.splits_like(other)
        )

    def assemble(self, shards: list[jax.Array]) -> jax.Array:
        """The array with these shards of this process, in the order of devices."""
        return jax_runtime.make_array(self.aval, self.sharding, shards)

    def copy(self, array: jax.Array) -> jax.Array:
        """A copy of an array of this place; does not wait for it."""
        return jax_runtime.copy_arrays(
            [array],
            [self.mesh.device_list],
            [self.sharding],
            [jax_runtime.ALWAYS_COPY],
        )[0]

    @property
    def type_text(self) -> str:
        return f"tensor<{'x'.join([*map(str, self.shape), self.element])}>"


class ProgramMesh:
    """A mesh of a program on the devices of a jax Mesh."""

    def __init__(self, description: dict, mesh: Mesh):
        self.name = description["name"]
        self.axes = {axis: int(size) for axis, size in description["axes"]}
        self.jax_mesh = self._check(mesh, description.get("device_ids"))
        self.devices = tuple(self.jax_mesh.devices.flat)
        self.device_list = jax_runtime.DeviceList(self.devices)
        self.client = self.devices[0].client
        self.processes = {device.process_index for device in self.devices}
        # Whether it can be compiled for, and no more.
        self.is_described = described.is_described(self.devices[0])
        # How its devices are arranged, as far as code that is compiled depends on it.
        self.torus = repr(described.torus_places(self.devices))
        # Whether this process plans for it.
        self.is_here = (
            self.is_described or self.client.process_index() in self.processes
        )
        self.is_gpu = self.devices[0].platform in _GPUS
        # One name for GPUs of all vendors.
        self.platform = "gpu" if self.is_gpu else self.devices[0].platform
        self.default_kind, self.kinds = described.memory_kinds(self.devices[0])
        # Meshes that have some of these devices as well, by name; and the first of
        # all that hang together in this way.
        self.sharing: frozenset[str] = frozenset()
        self.group = self.name
        self._places: dict[Any, Place] = {}
        self._shardings: dict[Any, NamedSharding] = {}

    def _check(self, mesh: Mesh, device_ids: list[int] | None) -> Mesh:
        if dict(mesh.shape) != self.axes or list(mesh.axis_names) != list(self.axes):
            raise ProgramError(
                f"mesh {self.name!r} has axes {dict(mesh.shape)}, but the program was "
                f"partitioned for {self.axes}; pass a mesh with these axes"
            )
        count = mesh.devices.size
        if device_ids is None or list(device_ids) == list(range(count)):
            return mesh
        if sorted(device_ids) != list(range(count)):
            raise ProgramError(
                f"mesh {self.name!r} has {count} devices; its device_ids must be an "
                f"order of 0 to {count - 1}, not {device_ids}"
            )
        # Partition i of the module is what the program put on device_ids[i].
        devices = mesh.devices.reshape(-1)[list(device_ids)]
        return Mesh(devices.reshape(mesh.devices.shape), mesh.axis_names)

    def place(
        self, value: dict, sharding: dict | None, kind: str | None = None
    ) -> Place:
        """Where a value of this type is under a sharding of the program."""
        if kind == self.default_kind or kind not in self.kinds:
            kind = None
        shape = tuple(value["shape"])
        split = self._divisible(self._split(sharding, len(shape)), shape)
        return self.intern(value["dtype"], shape, split, kind)

    def intern(self, element: str, shape: tuple, split: Split, kind) -> Place:
        key = element, shape, split, kind
        if key not in self._places:
            self._places[key] = Place(self, *key)
        return self._places[key]

    def replicated(self, like: Place) -> Place:
        """The whole array on every device of this mesh."""
        split = Split(((),) * len(like.shape))
        return self.intern(like.element, like.shape, split, None)

    def _part(self, axis: str | dict) -> AxisPart:
        name = axis if isinstance(axis, str) else axis["axis"]
        if name not in self.axes:
            raise ProgramError(
                f"a sharding uses axis {name!r} of mesh {self.name!r}, which has "
                f"{list(self.axes)}"
            )
        if isinstance(axis, str):
            return AxisPart(name, 1, self.axes[name])
        pre, size = int(axis["pre"]), int(axis["size"])
        if self.axes[name] % (pre * size):
            raise ProgramError(
                f"a sharding uses ({pre}){size}, which is no part of axis {name!r} of "
                f"mesh {self.name!r}, of size {self.axes[name]}"
            )
        return AxisPart(name, pre, size)

    def _split(self, sharding: dict | None, rank: int) -> Split:
        if sharding is None:
            return Split(((),) * rank)
        dims = tuple(tuple(map(self._part, dim)) for dim in sharding["dims"])
        if len(dims) != rank:
            raise ProgramError(
                f"a sharding on mesh {self.name!r} has {len(dims)} dimensions, its "
                f"value {rank}"
            )
        return Split(dims, tuple(map(self._part, sharding.get("unreduced", ()))))

    @staticmethod
    def _divisible(split: Split, shape: tuple[int, ...]) -> Split:
        """What XLA keeps of a split at the edge of a module: whole shards only."""
        dims = []
        for size, parts in zip(shape, split.dims, strict=True):
            kept = []
            for part in parts:
                common = math.gcd(part.size, size)
                if common > 1:
                    kept.append(AxisPart(part.axis, part.pre, common))
                if common != part.size:
                    break
                size //= common
            dims.append(tuple(kept))
        return Split(tuple(dims), split.unreduced)

    def sharding(self, split: Split, kind: str | None) -> NamedSharding:
        key = split, kind
        if key not in self._shardings:
            mesh, names = self._refine(split)
            self._shardings[key] = named_sharding(
                mesh,
                [[name for part in dim for name in names[part]] for dim in split.dims],
                {name for part in split.unreduced for name in names[part]},
                kind,
            )
        return self._shardings[key]

    def _refine(self, split: Split) -> tuple[Mesh, dict[AxisPart, list[str]]]:
        """A mesh whose axes include every part, and the axes that make up each."""
        parts = [p for group in (*split.dims, split.unreduced) for p in group]
        sizes, names, changed = [], [], False
        pieces: dict[str, list[tuple[int, int, str]]] = {}
        for axis, size in self.axes.items():
            cuts = {1, size}
            for part in parts:
                if part.axis == axis:
                    cuts |= {part.pre, part.pre * part.size}
            bounds = sorted(cuts)
            if len(bounds) <= 2:
                pieces[axis] = [(1, size, axis)]
            else:
                changed = True
                pieces[axis] = [
                    (low, high, f"{axis}:({low}){high // low}")
                    for low, high in zip(bounds, bounds[1:], strict=False)
                ]
            sizes += [high // low for low, high, _ in pieces[axis]]
            names += [name for _, _, name in pieces[axis]]
        members = {
            part: [
                name
                for low, high, name in pieces[part.axis]
                if part.pre <= low and high <= part.pre * part.size
            ]
            for part in parts
        }
        mesh = self.jax_mesh
        if changed:
            mesh = Mesh(np.array(self.devices).reshape(sizes), names)
        return mesh, members


def bind_meshes(
    descriptions: Sequence[dict], meshes: dict[str, Mesh]
) -> dict[str, ProgramMesh]:
    """The meshes of a program on devices, and which of them share some."""
    bound: dict[str, ProgramMesh] = {}
    devices: dict[Any, frozenset] = {}
    for description in descriptions:
        name = description["name"]
        if name not in meshes:
            raise ProgramError(
                f"the program runs on mesh {name!r}, which was not given; given are "
                f"{sorted(meshes)}"
            )
        if not isinstance(meshes[name], Mesh):
            raise TypeError(
                f"mesh {name!r} is {meshes[name]!r}; expected a jax.sharding.Mesh"
            )
        _check_devices(name, meshes[name], devices)
        bound[name] = ProgramMesh(description, meshes[name])
    users = collections.defaultdict(dict)
    for name, mesh in bound.items():
        for device in mesh.devices:
            users[device][name] = None
    for name, mesh in bound.items():
        others = frozenset(other for device in mesh.devices for other in users[device])
        mesh.sharing = others - {name}
        if mesh.sharing and jax.process_count() > 1:
            raise ProgramError(
                f"meshes {mesh.name!r} and {min(mesh.sharing)!r} share devices, and "
                f"this run has {jax.process_count()} processes, which do not issue in "
                "one order; give every mesh devices of its own, or run one process"
            )
    for mesh in bound.values():
        _join_group(mesh, mesh.group, bound)
    _report_shared(bound)
    return bound


def _check_devices(name: str, mesh: Mesh, known: dict[Any, frozenset]) -> None:
    """A program can be lowered for devices of a description; here they have to exist.

    Args:
      known: backend to the devices of all processes, filled as needed.
    """
    for device in mesh.devices.flat:
        try:
            client = device.client
        except (AttributeError, RuntimeError):  # It has none.
            client = None
        if client not in known:
            known[client] = frozenset(client.devices() if client else ())
        if device not in known[client]:
            raise ProgramError(
                f"mesh {name!r}: no process has device {device}; this run has "
                f"{jax.device_count()} devices in {jax.process_count()} processes. "
                "Make the mesh of jax.devices(), or do not compile what is only lowered"
            )
    if mixed := described.mixed_backends(mesh.devices.flat):
        raise ProgramError(f"mesh {name!r} {mixed}")


def _join_group(mesh: ProgramMesh, group: str, bound: dict[str, ProgramMesh]) -> None:
    mesh.group = group
    for name in mesh.sharing:
        if bound[name].group != group:
            _join_group(bound[name], group, bound)


_reported: set[frozenset[str]] = set()


def _report_shared(bound: dict[str, ProgramMesh]) -> None:
    """Says once in a process what it costs that meshes share devices."""
    names = frozenset(name for name, mesh in bound.items() if mesh.sharing)
    if not names or names in _reported:
        return
    _reported.add(names)
    listed = ", ".join(repr(name) for name in bound if name in names)
    _logger.warning(
        "meshes %s share devices: their fragments run one after the other, in the "
        "order of issue, and a value that is sent between them is in memory twice. "
        "Meshes with devices of their own are faster",
        listed,
    )
