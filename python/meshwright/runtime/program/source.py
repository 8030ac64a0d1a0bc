# SPDX-License-Identifier: Apache-2.0
"""The modules of fragments, read and checked."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...jaxapi import runtime as jax_runtime
from ...jaxapi.modules import attributes_of, find_main
from .errors import ProgramError
from .placement import ProgramMesh
from .python_calls import PythonCalls, find_python_calls

ir, sdy = jax_runtime.ir, jax_runtime.sdy

# The attribute that says that an operation has effects outside of the devices.
_EFFECT_MARKS = {
    "stablehlo.custom_call": "has_side_effect",
    "stablehlo.send": "is_host_transfer",
    "stablehlo.recv": "is_host_transfer",
}


class Signature(NamedTuple):
    """Types of @main of a fragment's module, and which arguments it takes over."""

    arguments: tuple[str, ...]
    results: tuple[str, ...]
    donated: tuple[bool, ...]


@dataclass
class Source:
    """A fragment's module, read and checked, and what identifies its code.

    Attributes:
      module_name: what the executable is called, if not as its fragment.
    """

    name: str
    mesh: ProgramMesh
    text: str
    code: str
    signature: Signature
    callbacks: PythonCalls
    options: dict[str, Any]
    origins: list[str] = field(default_factory=list)
    module_name: str | None = None

    @functools.cached_property
    def key(self) -> tuple:
        owner = (self.name, self.mesh.name) if self.callbacks else None
        return (
            self.code,
            len(self.mesh.devices),
            id(self.mesh.client),
            self.mesh.torus if self.mesh.is_described else None,
            # What JAX's configuration says may change from program to program.
            jax_runtime.serialized_options(self.mesh.devices, {}),
            repr(sorted(self.options.items())),
            owner,
        )

    def describe(self) -> str:
        return describe_fragment(self.name, self.origins, self.mesh.name)


def describe_fragment(name: str, origins: Sequence[str], mesh: str) -> str:
    made_from = f" (from {', '.join(origins)})" if origins else ""
    return f'fragment "{name}"{made_from} on mesh "{mesh}"'


def _outward(module: Any, text: str) -> list[Any]:
    """Operations that may have effects outside of the devices.

    Most modules have none, which their text says sooner than each operation does.
    """
    found: list[Any] = []
    if not any(name in text for name in _EFFECT_MARKS):
        return found

    def visit(op):
        if op.name in _EFFECT_MARKS:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _has_free_effect(op: Any) -> bool:
    """Whether XLA does not know where an effect of an operation happens."""
    effect = op.attributes.get(_EFFECT_MARKS[op.name])
    return (
        "sdy.sharding" not in op.attributes
        and effect is not None
        and ir.BoolAttr(effect).value
    )


def _pin_side_effects(module: Any, outward: Sequence[Any]) -> bool:
    """Runs what has side effects, e.g. a Python callback, on the first device.

    XLA partitions no such call without knowing where it runs, and the compiler
    drops the shardings of operations once values have theirs.

    Returns:
      Whether the module has such calls.
    """
    free = list(filter(_has_free_effect, outward))
    for op in free:
        pins = ", ".join(["<@first_device, []>"] * max(1, len(op.results)))
        op.attributes["sdy.sharding"] = ir.Attribute.parse(
            f"#sdy.sharding_per_value<[{pins}]>"
        )
    if free:
        with ir.Location.unknown():
            mesh = ir.Operation.parse("sdy.mesh @first_device = <[], device_ids=[0]>")
        ir.InsertionPoint.at_block_begin(module.body).insert(mesh)
    return bool(free)


def _drop_device_ids(module: Any) -> int:
    """Lets meshes have their devices in the usual order; how many had another."""
    dropped = 0
    for op in module.body.operations:
        if op.operation.name != "sdy.mesh":
            continue
        mesh = sdy.MeshAttr(op.operation.attributes["mesh"])
        # A mesh without axes names the one device that does everything.
        if mesh.device_ids and mesh.axes:
            op.operation.attributes["mesh"] = sdy.MeshAttr.get(mesh.axes)
            dropped += 1
    return dropped


def read_source(
    name: str, mesh: ProgramMesh, text: str, options: dict[str, Any]
) -> Source:
    """Parses a fragment's module in the current MLIR context."""
    try:
        module = ir.Module.parse(text)
    except ir.MLIRError as error:
        raise ProgramError(f'fragment "{name}" does not parse: {error}') from None
    # The order of devices is that of the mesh the program was bound to.
    outward = _outward(module, text)
    if len(mesh.devices) > 1 and (
        _drop_device_ids(module) + _pin_side_effects(module, outward)
    ):
        text = module.operation.get_asm(enable_debug_info=True)
    signature = _signature(name, module)
    # With names equal fragments stay apart, for profilers to tell them by name.
    keeps_names = os.environ.get("MESHWRIGHT_KEEP_NAMES", "0") not in ("", "0")
    if not keeps_names and "sym_name" in module.operation.attributes:
        del module.operation.attributes["sym_name"]
    code = module.operation.get_asm(
        enable_debug_info=False, print_generic_op_form=False
    )
    return Source(
        name=name,
        mesh=mesh,
        text=text,
        code=code,
        signature=signature,
        callbacks=find_python_calls(outward),
        options=dict(options),
    )


def _signature(name: str, module: Any) -> Signature:
    try:
        main = find_main(module.operation)
    except KeyError:
        raise ProgramError(f'fragment "{name}" has no function @main') from None
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    marks = attributes_of(main, "arg_attrs") or [{}] * len(kind.inputs)
    return Signature(
        tuple(map(str, kind.inputs)),
        tuple(map(str, kind.results)),
        tuple(map(_is_donated, marks)),
    )


def _is_donated(marks: Mapping[str, Any]) -> bool:
    """Whether XLA may overwrite an argument of @main."""
    donor = str(marks.get("jax.buffer_donor", "false"))
    return "tf.aliasing_output" in marks or donor != "false"
