"""Small programs for the runtime: what the compiler writes, put together by hand."""

import itertools
import math
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import numpy as np
from jax.experimental import io_callback
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from meshwright import runtime
from support import numerics

# Eight to use and one to spare: its thread lets collectives go on.
if jax.config.jax_num_cpu_devices < 9:
    jax.config.update("jax_num_cpu_devices", 9)

BYTES = {"f32": 4, "bf16": 2, "i32": 4, "i1": 1, "f64": 8}


class Builder:
    """Collects meshes, fragments and items; hands out value ids.

    Meshes take devices from the first one on, in the order they are given.
    """

    def __init__(self, **meshes: dict[str, int]):
        devices = iter(jax.devices("cpu"))
        self.meshes = {}
        for name, axes in meshes.items():
            taken = list(itertools.islice(devices, math.prod(axes.values())))
            grid = np.array(taken).reshape(tuple(axes.values()))
            self.meshes[name] = Mesh(grid, tuple(axes))
        self.program = {
            "version": 1,
            "name": "main",
            "meshes": [
                {
                    "name": name,
                    "axes": [[axis, size] for axis, size in axes.items()],
                    "device_ids": None,
                    "items": [],
                }
                for name, axes in meshes.items()
            ],
            "values": [],
            "inputs": [],
            "outputs": [],
            "fragments": [],
            "items": [],
            "issue_order": [],
        }
        self.modules = {}
        self.callbacks = []

    def value(self, mesh, shape, dtype="f32", dims=None, kind=None, unreduced=()):
        sharding = None
        if dims is not None or unreduced:
            sharding = {"dims": dims or [[] for _ in shape], "unreduced": unreduced}
        size = math.prod(shape) * BYTES.get(dtype, 1)
        self.program["values"].append(
            {
                "mesh": mesh,
                "shape": list(shape),
                "dtype": dtype,
                "sharding": sharding,
                "memory_kind": kind,
                "bytes": size,
                "device_bytes": size,
            }
        )
        return len(self.program["values"]) - 1

    def input(self, *args, donated=False, name=None, **kwargs):
        value = self.value(*args, **kwargs)
        self.program["inputs"].append(
            {
                "value": value,
                "name": name,
                "donated": donated,
                "memory_kind": None,
                "layout": None,
            }
        )
        return value

    def output(self, *values, kind=None):
        for value in values:
            self.program["outputs"].append(
                {"value": value, "name": None, "memory_kind": kind, "layout": None}
            )

    def fragment(self, name, mesh, body, arguments, results, *, flops=0, **marks):
        """`body` is the text between the braces of @main, `%0…` its arguments.

        `arguments` and `results` are values of the program that represent the
        types and shardings. `alias={argument: result}`, `donate=[argument]`.
        """
        alias, donors = marks.get("alias", {}), marks.get("donate", [])
        texts = [
            self._typed(mesh, value, alias.get(i), i in donors)
            for i, value in enumerate(arguments)
        ]
        header = ", ".join(f"%arg{i}: {text}" for i, text in enumerate(texts))
        out = ", ".join(self._typed(mesh, value) for value in results)
        axes = ", ".join(f'"{a}"={n}' for a, n in self.meshes[mesh].shape.items())
        self.modules[name] = (
            f'module @"{name}" {{\n  sdy.mesh @mesh = <[{axes}]>\n'
            f"  func.func public @main({header}) -> ({out}) {{\n{body}\n  }}\n}}\n"
        )
        values = self.program["values"]
        self.program["fragments"].append(
            {
                "name": name,
                "mesh": mesh,
                "calls": 0,
                "flops": flops,
                "reserved_bytes": None,
                "arguments": [
                    {
                        "alias": alias.get(i),
                        "donated": i in alias or i in donors,
                        "memory_kind": values[value]["memory_kind"],
                        "layout": None,
                        "sharding": values[value]["sharding"],
                    }
                    for i, value in enumerate(arguments)
                ],
                "results": [
                    {
                        "memory_kind": values[value]["memory_kind"],
                        "layout": None,
                        "sharding": values[value]["sharding"],
                    }
                    for value in results
                ],
            }
        )
        return len(self.program["fragments"]) - 1

    def _typed(self, mesh, value, alias=None, donated=False):
        entry = self.program["values"][value]
        kind = self.tensor(value)
        attributes = []
        sharding = entry["sharding"] or {"dims": [[] for _ in entry["shape"]]}
        dims = ", ".join(
            "{" + ", ".join(map(self._axis, dim)) + "}" for dim in sharding["dims"]
        )
        unreduced = ", ".join(map(self._axis, sharding.get("unreduced", ())))
        unreduced = f", unreduced={{{unreduced}}}" if unreduced else ""
        attributes.append(f"sdy.sharding = #sdy.sharding<@mesh, [{dims}]{unreduced}>")
        if alias is not None:
            attributes.append(f"tf.aliasing_output = {alias} : i32")
        elif donated:
            attributes.append("jax.buffer_donor = true")
        if entry["memory_kind"]:
            attributes.append(f'mhlo.memory_kind = "{entry["memory_kind"]}"')
        return f"{kind} {{{', '.join(attributes)}}}"

    @staticmethod
    def _axis(axis):
        if isinstance(axis, str):
            return f'"{axis}"'
        return f'"{axis["axis"]}":({axis["pre"]}){axis["size"]}'

    def tensor(self, value):
        entry = self.program["values"][value]
        return f"tensor<{'x'.join([*map(str, entry['shape']), entry['dtype']])}>"

    def _add(self, item):
        self.program["issue_order"].append(len(self.program["items"]))
        self.program["items"].append(item)

    def call(self, fragment, operands, results, origins=()):
        entry = self.program["fragments"][fragment]
        entry["calls"] += 1
        self._add(
            {
                "kind": "call",
                "mesh": entry["mesh"],
                "fragment": fragment,
                "origins": list(origins),
                "remat": False,
                "operands": list(operands),
                "results": list(results),
                "last_uses": [],
                "location": None,
            }
        )

    def transfer(self, operand, mesh, **kwargs):
        """The value that results: like the operand, on another mesh."""
        entry = self.program["values"][operand]
        result = self.value(mesh, entry["shape"], entry["dtype"], **kwargs)
        self._add(
            {
                "kind": "transfer",
                "from": entry["mesh"],
                "to": mesh,
                "operand": operand,
                "result": result,
                "last_uses": [],
                "bytes": entry["bytes"],
                "location": None,
            }
        )
        return result

    def unary(self, name, operation, operand, result=None, **kwargs):
        """Defines and calls `result = operation(operand, operand)`; the result."""
        entry = self.program["values"][operand]
        if result is None:
            dims = entry["sharding"] and entry["sharding"]["dims"]
            result = self.value(
                entry["mesh"], entry["shape"], entry["dtype"], dims=dims
            )
        kind = self.tensor(operand)
        body = f"    %r = {operation} %arg0, %arg0 : {kind}\n    return %r : {kind}"
        origins = kwargs.pop("origins", [name])
        fragment = self.fragment(
            name, entry["mesh"], body, [operand], [result], **kwargs
        )
        self.call(fragment, [operand], [result], origins)
        return result

    def callback(self, name, operand, function, origins=(), effects=False):
        """Calls a Python function with each device's rows; the result.

        A program has at most one: callbacks are numbered per module.
        """
        entry = self.program["values"][operand]
        mesh, shape = self.meshes[entry["mesh"]], tuple(entry["shape"])
        split = NamedSharding(mesh, PartitionSpec(*mesh.axis_names))

        def call(rows):
            kind = io_callback if effects else jax.pure_callback
            return kind(function, jax.ShapeDtypeStruct(rows.shape, rows.dtype), rows)

        # Every device calls on its own: XLA aborts when some wait for one that failed.
        local = jax.shard_map(
            call, mesh=mesh, in_specs=split.spec, out_specs=split.spec
        )
        lowered = jax.jit(local, out_shardings=split).lower(
            jax.ShapeDtypeStruct(shape, np.float32, sharding=split)
        )
        result = self.value(entry["mesh"], shape, dims=entry["sharding"]["dims"])
        fragment = self.fragment(name, entry["mesh"], "", [operand], [result])
        self.modules[name] = lowered.as_text()
        self.callbacks = lowered._lowering.compile_args["host_callbacks"]
        self.call(fragment, [operand], [result], origins)
        return result

    def load(self, **kwargs):
        return runtime.load(
            self.program,
            self.modules,
            self.meshes,
            host_callbacks=self.callbacks,
            **kwargs,
        )

    def put(self, array, mesh, *spec, **kwargs):
        sharding = NamedSharding(self.meshes[mesh], PartitionSpec(*spec), **kwargs)
        return jax.device_put(array, sharding)


def iota(*shape, dtype=np.float32):
    return np.arange(math.prod(shape), dtype=dtype).reshape(shape)


def check_numbers(executor, original: str) -> list[jax.Array]:
    """Its results are those of the original program; returns what it was given."""
    arguments = numerics.random_arguments(original)
    arrays = [
        jax.device_put(argument, sharding)
        for argument, sharding in zip(arguments, executor.input_shardings, strict=True)
    ]
    results = [np.asarray(result) for result in executor(*arrays)]
    expected = numerics.run(original, arguments)
    assert numerics.largest_difference(expected, results) < 1e-5
    return arrays
