"""Runs StableHLO modules with JAX on one CPU device and compares results.

Used by the tests and the demo to check that a partitioned program, once its
partitioning is erased, still computes the numbers of the original.
"""

import functools
import os
import re

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import jax.extend.backend
import numpy as np
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import mpmd, stablehlo

from support import xla_emitters

_DTYPES = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
    "f16": np.float16,
    "bf16": jax.numpy.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}

# YNNPACK makes kernels as a program runs, and here each runs once.
_NO_YNNPACK = {"xla_cpu_experimental_ynn_fusion_type": ""}


def make_context() -> ir.Context:
    """A context of jaxlib's MLIR that knows the mpmd dialect too."""
    context = jax_mlir.make_ir_context()
    mpmd.register_dialect(context)
    return context


@functools.cache
def shared_context() -> ir.Context:
    """One for all of this process: to load the dialects takes as long as to compile a
    small program."""
    return make_context()


def print_module(text: str, **options) -> str:
    """What jaxlib prints for a module; options are those of `get_asm`."""
    with shared_context():
        return ir.Module.parse(text).operation.get_asm(**options)


def check_module(text: str) -> None:
    """Raises what jaxlib raises if it cannot read a module, or does not verify it.

    The constants of a large one are to go with its context.
    """
    with make_context():
        ir.Module.parse(text)


def _function(module: ir.Module, name: str) -> ir.Operation:
    for op in module.body.operations:
        if (
            op.operation.name == "func.func"
            and ir.StringAttr(op.attributes["sym_name"]).value == name
        ):
            return op
    raise ValueError(f"the module has no function @{name}")


def random_arguments(text: str, seed: int = 0) -> list[np.ndarray]:
    """Arguments for @main of a plain module: one array per argument.

    Floats are normal with scale 0.1, so that deep programs stay finite;
    integers are in [0, 8), so that they are good indices; booleans are fair.
    """
    rng = np.random.default_rng(seed)
    with shared_context():
        # Its operations do not keep a module alive.
        module = ir.Module.parse(text)
        function = _function(module, "main")
        signature = ir.FunctionType(
            ir.TypeAttr(function.attributes["function_type"]).value
        )
        arguments = []
        for type_ in signature.inputs:
            tensor = ir.RankedTensorType(type_)
            dtype = np.dtype(_DTYPES[str(tensor.element_type)])
            shape = tuple(tensor.shape)
            if dtype == np.bool_:
                value = rng.integers(0, 2, shape)
            elif np.issubdtype(dtype, np.integer):
                value = rng.integers(0, 8, shape)
            else:
                value = 0.1 * rng.standard_normal(shape)
            arguments.append(np.asarray(value).astype(dtype))
        return arguments


def run(
    text: str, arguments: list[np.ndarray], fold: bool = True, fuse: bool = True
) -> list[np.ndarray]:
    """Compiles @main of a plain StableHLO module for one CPU device, runs it.

    Without `fold` XLA computes constants when the program runs, as it would compute
    arguments, and optimizes little. Without `fuse` it takes its older emitters, where
    it has them; they do not know the larger of two complex numbers. Raises what XLA
    raises if the module does not compile.
    """
    device = jax.devices("cpu")[0]
    options = jax.extend.backend.get_compile_options(
        num_replicas=1,
        num_partitions=1,
        device_assignment=np.array([[0]]),
        env_options_overrides=None
        if fold
        else {
            "xla_disable_hlo_passes": "constant_folding",
            "xla_backend_optimization_level": "0",
            **(
                _NO_YNNPACK | {xla_emitters.OPTION: fuse}
                if xla_emitters.HAS_OLDER
                else {}
            ),
        },
    )
    executable = device.client.compile_and_load(text, [device], options)
    # Arguments of 64 bits would otherwise be narrowed on their way to the device.
    with jax.enable_x64(True):
        buffers = [jax.device_put(value, device) for value in arguments]
    results = executable.execute_sharded(buffers)
    return [np.asarray(a[0]) for a in results.disassemble_into_single_device_arrays()]


def run_together(
    texts: list[str], arguments: list[np.ndarray], **options: bool
) -> list[list[np.ndarray]]:
    """Runs modules on the same arguments, as one program, with the options of `run`.

    What XLA finds equal in them it compiles once, which takes less time than to compile
    each by itself. For modules without custom calls, aliases and resources, whose
    symbols need no quotes.
    """
    with make_context():
        bodies, types = [], []
        for number, text in enumerate(texts):
            text = re.sub(r"@(\w+)", rf"@of{number}_\1", text)
            module = ir.Module.parse(
                text.replace("func.func public", "func.func private")
            )
            # Without the braces of the module around it.
            bodies += str(module).rstrip().split("\n")[1:-1]
            main = _function(module, f"of{number}_main")
            type_ = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
            types.append((list(map(str, type_.inputs)), list(map(str, type_.results))))
    inputs = [f"%arg{i}" for i in range(len(arguments))]
    calls, results, result_types = [], [], []
    for number, (taken, given) in enumerate(types):
        signature = f"({', '.join(taken)}) -> ({', '.join(given)})"
        callee = f"@of{number}_main({', '.join(inputs)})"
        calls.append(f"%of{number}:{len(given)} = call {callee} : {signature}")
        results += [f"%of{number}#{i}" for i in range(len(given))]
        result_types += given
    typed = ", ".join(map(": ".join, zip(inputs, types[0][0], strict=True)))
    listed = ", ".join(result_types)
    main = [
        f"func.func public @main({typed}) -> ({listed}) {{",
        *calls,
        f"return {', '.join(results)} : {listed}",
        "}",
    ]
    found = iter(
        run("\n".join(["module {", *bodies, *main, "}"]), arguments, **options)
    )
    return [[next(found) for _ in given] for _, given in types]


def interpret(text: str, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Runs @main of a plain StableHLO module in StableHLO's interpreter.

    For small arrays that takes a twentieth of the time in which XLA compiles. It knows
    few types, and scatters into the very array that it is given, so that a program has
    other numbers that reads it again. Call it where jaxlib may end the process.
    """
    with shared_context():
        module = ir.Module.parse(text)
        unsigned = (
            np.issubdtype(value.dtype, np.unsignedinteger) for value in arguments
        )
        constants = [
            ir.DenseElementsAttr.get(value, signless=not has_no_sign)
            for value, has_no_sign in zip(arguments, unsigned, strict=True)
        ]
        results = stablehlo.eval_module(module, constants)
        return [np.array(value) for value in results]


def largest_difference(left: list[np.ndarray], right: list[np.ndarray]) -> float:
    """The largest difference over all results, relative to each array's scale.

    Infinite if shapes, types or the places of NaNs differ.
    """
    if len(left) != len(right):
        return float("inf")
    worst = 0.0
    for a, b in zip(left, right, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if a.size == 0 or a.tobytes() == b.tobytes():
            continue
        wide = np.complex128 if np.iscomplexobj(a) else np.float64
        a, b = a.astype(wide), b.astype(wide)
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return float("inf")
        a, b = np.nan_to_num(a), np.nan_to_num(b)
        scale = max(float(np.abs(a).max()), 1e-30)
        worst = max(worst, float(np.abs(a - b).max()) / scale)
    return worst


def strip_names(text: str) -> str:
    """Takes the names off an annotated, not yet partitioned program.

    Done with jaxlib's MLIR alone, so that it can judge what our passes do:
    named computations are inlined, loops unrolled, named tensors, broadcasts and
    reductions of one value forwarded, `mpmd.call` becomes `func.call`.
    """
    with shared_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        for function in module.body.operations:
            if function.operation.name == "func.func":
                _strip_block(function.regions[0].blocks[0])
        return str(module)


def _unroll(loop) -> None:
    """Replaces a loop by its iterations. Its body must not use the index."""
    body = loop.regions[0].blocks[0]
    _strip_block(body)
    *inner, terminator = body.operations
    values = list(loop.operands)
    for _ in range(ir.IntegerAttr(loop.attributes["iterations"]).value):
        known = dict(zip(body.arguments, values, strict=False))
        for op in inner:
            copy = op.operation.clone(ir.InsertionPoint(loop.operation))
            for index, operand in enumerate(op.operands):
                copy.operands[index] = known.get(operand, operand)
            known.update(zip(op.results, copy.results, strict=True))
        values = [known.get(value, value) for value in terminator.operands]
    for result, value in zip(loop.results, values, strict=True):
        result.replace_all_uses_with(value)
    loop.operation.erase()


def _strip_block(block: ir.Block) -> None:
    for op in list(block.operations):
        name = op.operation.name
        if name == "mpmd.named_computation":
            body = op.regions[0].blocks[0]
            _strip_block(body)
            inner = list(body.operations)
            for argument, operand in zip(body.arguments, op.operands, strict=True):
                argument.replace_all_uses_with(operand)
            returned = list(inner[-1].operands)
            for moved in inner[:-1]:
                moved.operation.move_before(op.operation)
            for result, value in zip(op.results, returned, strict=True):
                result.replace_all_uses_with(value)
            op.operation.erase()
        elif name == "mpmd.for":
            _unroll(op)
        elif name in ("mpmd.named_tensor", "mpmd.broadcast", "mpmd.reduce"):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.operation.erase()
        elif name == "mpmd.call":
            with ir.InsertionPoint(op.operation):
                call = ir.Operation.create(
                    "func.call",
                    results=[result.type for result in op.results],
                    operands=list(op.operands),
                    attributes={"callee": op.attributes["callee"]},
                )
            for old, new in zip(op.results, call.results, strict=True):
                old.replace_all_uses_with(new)
            op.operation.erase()
