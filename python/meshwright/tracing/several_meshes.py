# SPDX-License-Identifier: Apache-2.0
"""Programs that name several meshes, lowered by a JAX that wants one.

JAX lowers a function for the devices of one mesh, and refuses a program whose
constraints or `shard_map`s name others. Here a sharding only says how a value is
split, and where the value lives is decided later. So shardings lose their devices
before JAX sees them, and those of inputs and outputs on meshes of another size
than the first one are written into the module afterwards:

    with_sharding_constraint(h, NamedSharding(second_mesh, P("y")))
    # becomes
    with_sharding_constraint(h, NamedSharding(second_mesh.abstract_mesh, P("y")))
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jax
from jax.experimental.layout import Format
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..jaxapi import frontend as compat
from ..jaxapi.modules import attributes_of, find_main

ir = compat.ir

_MEMORY_KIND, _DEVICE, _HOST = "mhlo.memory_kind", "device", "pinned_host"
_PLACEMENT = "mhlo.frontend_attributes"
# Types of what says nothing about meshes, as most parameters.
_PLAIN = frozenset({type(None), bool, int, float, str})


def without_devices(closed: Any, reference: Mesh) -> Any:
    """An equal program whose shardings are on `reference`, or on no devices.

    The reference is the mesh whose devices JAX lowers for.
    """
    found = _rewrite(closed.jaxpr, reference)
    return closed if found is None else compat.ClosedJaxpr(found, closed.consts)


@compat.weakref_lru_cache
def _rewrite(jaxpr: Any, reference: Mesh) -> Any | None:
    """The jaxpr with other meshes; None, and no reference to it, if it is as good."""
    changed, eqns = False, []
    for eqn in jaxpr.eqns:
        around = _rewrite_eqn(eqn, reference)
        changed |= around is not None
        eqns.extend([eqn] if around is None else around)
    return jaxpr.replace(eqns=eqns) if changed else None


def _rewrite_eqn(eqn: Any, reference: Mesh) -> list[Any] | None:
    """The equations to put in the place of one; None if it stays."""
    params = {}
    for name, value in eqn.params.items():
        if type(value) not in _PLAIN:
            moved = _rewrite_param(value, reference)
            if moved is not value:
                params[name] = moved
    if params:
        eqn = eqn.replace(params={**eqn.params, **params})
    around = None
    if eqn.primitive is compat.jit_p:
        around = _constrain_jit(eqn, reference)
    elif eqn.primitive is compat.device_put_p:
        around = _constrain_device_put(eqn, reference)
    return around or ([eqn] if params else None)


def _rewrite_param(value: Any, reference: Mesh) -> Any:
    """A parameter of an equation on other meshes; the same object if it stays."""
    if isinstance(value, compat.ClosedJaxpr):
        return without_devices(value, reference)
    if isinstance(value, compat.Jaxpr):
        found = _rewrite(value, reference)
        return value if found is None else found
    if type(value) in (tuple, list):
        if _PLAIN.issuperset(map(type, value)):
            return value
        moved = [_rewrite_param(entry, reference) for entry in value]
        same = all(a is b for a, b in zip(moved, value, strict=True))
        return value if same else type(value)(moved)
    if isinstance(value, Mesh):
        return _move_mesh(value, reference)
    if isinstance(value, NamedSharding) and isinstance(value.mesh, Mesh):
        mesh = _move_mesh(value.mesh, reference)
        return value if mesh is value.mesh else value.update(mesh=mesh)
    return value


def _move_mesh(mesh: Mesh, reference: Mesh) -> Any:
    if mesh.empty or mesh is reference:
        return mesh
    same = mesh.abstract_mesh == reference.abstract_mesh
    return reference if same else mesh.abstract_mesh


def _is_external(sharding: Any, reference: Mesh) -> bool:
    """Whether a sharding is on no devices, and has other axes than `reference`."""
    return (
        isinstance(sharding, NamedSharding)
        and not isinstance(sharding.mesh, Mesh)
        and not sharding.mesh.empty
        and sharding.mesh != reference.abstract_mesh
    )


def constrain(eqn: Any, value: Any, sharding: NamedSharding) -> tuple[Any, Any]:
    """An equation that constrains a value, and its result."""
    result = compat.Var(value.aval)
    spec = sharding.spec
    open_dims = {i for i, dim in enumerate(spec) if dim is PartitionSpec.UNCONSTRAINED}
    constraint = compat.operation_at(
        eqn,
        compat.sharding_constraint_p,
        [value],
        result,
        sharding=sharding.with_memory_kind(None),
        layout=None,
        context_mesh=compat.empty_mesh,
        unconstrained_dims=frozenset(open_dims),
    )
    return constraint, result


def _constrain_jit(eqn: Any, reference: Mesh) -> list[Any] | None:
    """A nested `jax.jit` whose external shardings are constraints around it.

    JAX checks those of nested functions against its devices, constraints not.
    """
    shardings = eqn.params["in_shardings"], eqn.params["out_shardings"]
    if not any(
        _is_external(sharding, reference) for side in shardings for sharding in side
    ):
        return None
    before, after, invars, outvars = [], [], list(eqn.invars), list(eqn.outvars)
    for index, (value, sharding) in enumerate(zip(invars, shardings[0], strict=True)):
        if _is_external(sharding, reference) and compat.is_variable(value):
            constraint, invars[index] = constrain(eqn, value, sharding)
            before.append(constraint)
    for index, (value, sharding) in enumerate(zip(outvars, shardings[1], strict=True)):
        if _is_external(sharding, reference) and not isinstance(value, compat.DropVar):
            outvars[index] = compat.Var(value.aval)
            constraint, _ = constrain(eqn, outvars[index], sharding)
            after.append(constraint.replace(outvars=[value]))
    params = dict(eqn.params)
    for name, side in zip(("in_shardings", "out_shardings"), shardings, strict=True):
        params[name] = tuple(
            compat.UNSPECIFIED if _is_external(sharding, reference) else sharding
            for sharding in side
        )
    return [*before, eqn.replace(invars=invars, outvars=outvars, params=params), *after]


def _constrain_device_put(eqn: Any, reference: Mesh) -> list[Any] | None:
    """`jax.device_put` to a memory of other devices: a constraint, then a memory."""
    devices = eqn.params["devices"]
    if not any(_is_external(target, reference) for target in devices):
        return None
    before, invars, targets = [], list(eqn.invars), list(devices)
    for index, (value, target) in enumerate(zip(invars, devices, strict=True)):
        if not _is_external(target, reference):
            continue
        if compat.is_variable(value):
            constraint, invars[index] = constrain(eqn, value, target)
            before.append(constraint)
        kind = target.memory_kind
        targets[index] = compat.memory_space(kind) if kind else None
    params = {**eqn.params, "devices": tuple(targets)}
    return [*before, eqn.replace(invars=invars, params=params)]


def annotated_module(
    lowered: Any, arguments: Mapping[int, Any], results: Mapping[int, Any]
) -> tuple[Any, list[int]]:
    """The module of a lowered function with further shardings.

    Args:
      lowered: what JAX lowered.
      arguments: shardings, or formats, of arguments of `main` that JAX did not get.
      results: the same for its results.

    Returns:
      The module as its operation, and the arguments that are in host memory. Only the
      mesh that they are assigned to can say that, and the module does not.
    """
    module = lowered.compiler_ir("stablehlo").operation
    main = find_main(module)
    has_kinds = any(_kinds(main, "arg_attrs") + _kinds(main, "res_attrs"))
    if not arguments and not results and not has_kinds:
        return module, []
    # JAX keeps modules for the next function that is lowered alike.
    module = module.clone()
    main = find_main(module)
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    with module.context, ir.Location.unknown():
        _annotate(main, "arg_attrs", kind.inputs, arguments)
        _annotate(main, "res_attrs", kind.results, results)
        kinds = _kinds(main, "arg_attrs")
        on_host = [index for index, kind in enumerate(kinds) if kind == _HOST]
        _drop_kind(main, "arg_attrs", _HOST)
        _place_results(main, on_host)
        _drop_kind(main, "res_attrs", _DEVICE)
    return module.operation, on_host


def _kinds(main: Any, key: str) -> list[str | None]:
    """What a function says of the memory of its arguments, or of its results."""
    return [
        ir.StringAttr(entry[_MEMORY_KIND]).value if _MEMORY_KIND in entry else None
        for entry in attributes_of(main, key)
    ]


def _drop_kind(main: Any, key: str, kind: str) -> None:
    kinds, entries = _kinds(main, key), attributes_of(main, key)
    if kind not in kinds:
        return
    for own, entry in zip(kinds, entries, strict=True):
        if own == kind:
            del entry[_MEMORY_KIND]
    main.attributes[key] = ir.ArrayAttr.get(list(map(ir.DictAttr.get, entries)))


def _place_results(main: Any, on_host: Sequence[int]) -> None:
    """Says by operations, too, which results are in host memory, as JAX does on GPUs.

    On CPUs JAX leaves `jax.device_put` to a memory out, and what is said of a result
    alone would contradict what makes it, or the argument that it is.
    """
    block = main.regions[0].blocks[0]
    end = block.operations[len(block.operations) - 1]
    for index, kind in enumerate(_kinds(main, "res_attrs")):
        value = end.operands[index]
        if isinstance(value.owner, ir.Block):
            number = ir.BlockArgument(value).arg_number
            is_said = kind != _HOST and number not in on_host
        else:
            is_said = kind != _HOST or _PLACEMENT in value.owner.attributes
        if is_said:
            continue
        placement = {"_xla_buffer_placement": ir.StringAttr.get(kind or _DEVICE)}
        placed = ir.Operation.create(
            "stablehlo.custom_call",
            results=[value.type],
            operands=[value],
            attributes={
                "call_target_name": ir.StringAttr.get("annotate_device_placement"),
                "has_side_effect": ir.BoolAttr.get(True),
                _PLACEMENT: ir.DictAttr.get(placement),
            },
            loc=end.location,
            ip=ir.InsertionPoint(end),
        )
        end.operands[index] = placed.results[0]


def _annotate(
    main: Any, key: str, types: Sequence[Any], shardings: Mapping[int, Any]
) -> None:
    if not shardings:
        return
    entries = attributes_of(main, key) or [{} for _ in types]
    for index, sharding in shardings.items():
        rank = ir.RankedTensorType(types[index]).rank
        entries[index] |= _attributes(sharding, rank)
    main.attributes[key] = ir.ArrayAttr.get([ir.DictAttr.get(e) for e in entries])


def _attributes(sharding: Any, rank: int) -> dict[str, Any]:
    """What JAX says about an argument or result of this sharding, or format."""
    found = {}
    if isinstance(sharding, Format):
        layout, sharding = sharding.layout, sharding.sharding
        if layout is not None:
            mode = "auto"
            if hasattr(layout, "major_to_minor"):
                order = ",".join(map(str, reversed(layout.major_to_minor)))
                mode = f"{{{order}}}"
            found["mhlo.layout_mode"] = ir.StringAttr.get(mode)
    found["sdy.sharding"] = ir.Attribute.parse(_sharding_text(sharding, rank))
    if sharding.memory_kind not in (None, _DEVICE):
        found[_MEMORY_KIND] = ir.StringAttr.get(sharding.memory_kind)
    return found


def _sharding_text(sharding: NamedSharding, rank: int) -> str:
    """A sharding in MLIR; the data of a typed key has more dimensions than the key."""

    def axes(names: Any) -> str:
        return ", ".join(json.dumps(name) for name in names)

    mesh = ", ".join(f"{json.dumps(n)}={s}" for n, s in sharding.mesh.shape.items())
    dims = []
    for dim in sharding.spec:
        if dim is PartitionSpec.UNCONSTRAINED:
            dims.append("{?}")
        elif dim is None:
            dims.append("{}")
        else:
            dims.append(f"{{{axes(dim if isinstance(dim, tuple) else (dim,))}}}")
    dims += ["{}"] * (rank - len(dims))
    unreduced = ""
    if sharding.spec.unreduced:
        order = [n for n in sharding.mesh.axis_names if n in sharding.spec.unreduced]
        unreduced = f", unreduced={{{axes(order)}}}"
    return f"#sdy.sharding<mesh<[{mesh}]>, [{', '.join(dims)}]{unreduced}>"


def flat_prefix(prefix: Any, tree: Any) -> dict[int, Any]:
    """Leaves of a prefix, but None, by their positions in the whole flat tree."""
    found: dict[int, Any] = {}

    def assign(leaf: Any, subtree: Any) -> None:
        if leaf is not None:
            found.update(dict.fromkeys(jax.tree.leaves(subtree), leaf))

    full = jax.tree.unflatten(tree, range(tree.num_leaves))
    jax.tree.map(assign, prefix, full, is_leaf=lambda leaf: leaf is None)
    return found
