"""Tokens, draws, calls, collectives, and others that no number tells the whole of.

A collective on one device is run; those of several devices are compared as text.
"""

from .program import Builder, Tensor, class_of, i64s, pairs
from .regions import REDUCERS, scalar

TOKEN = "!stablehlo.token"


def rng(b: Builder) -> None:
    element = b.element("PIf")
    normal = element in ("f32", "f64") and b.flag()
    low, high = b.constant(0, element), b.constant(1, element)
    shape = b.shape(1)
    sizes = b.constant(list(shape), "i64")
    attributes = "rng_distribution = #stablehlo<rng_distribution "
    attributes += "NORMAL>" if normal else "UNIFORM>"
    b.runs = False
    types = [Tensor(shape, element)]
    b.give(*b.op("stablehlo.rng", [low, high, sizes], types, attributes))


def rng_bit_generator(b: Builder) -> None:
    algorithm, words = b.rng.choice([("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3)])
    state = b.argument((words,), "ui64")
    element = b.rng.choice(["ui8", "ui16", "ui32", "ui64", "i32", "i64"])
    types = [state.type, Tensor(b.shape(1), element)]
    attributes = f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>"
    b.give(*b.op("stablehlo.rng_bit_generator", [state], types, attributes))


def tokens(b: Builder) -> None:
    tokens = [b.op("stablehlo.create_token", [], [TOKEN])[0] for _ in range(2)]
    tokens.append(b.opaque(TOKEN))
    b.give(*b.op("stablehlo.after_all", b.some(tokens), [TOKEN]))


def infeed(b: Builder) -> None:
    types = [Tensor(b.shape(), b.element("FPIC")) for _ in range(b.rng.randint(0, 2))]
    layout = ", ".join(
        f"[{', '.join(str(i) for i in reversed(range(len(t.shape))))}]" for t in types
    )
    attributes = f'infeed_config = "a\\22b", layout = [{layout}]'
    results = [*types, TOKEN]
    b.give(*b.op("stablehlo.infeed", [b.opaque(TOKEN)], results, attributes))


def outfeed(b: Builder) -> None:
    values = [b.argument(b.shape(), b.element("FPIC")) for _ in range(2)]
    attributes = 'outfeed_config = "x"' if b.flag() else ""
    b.give(*b.op("stablehlo.outfeed", [*values, b.opaque(TOKEN)], [TOKEN], attributes))


def channel(kind: int, handle: int = 1) -> str:
    return (
        f"channel_handle = #stablehlo.channel_handle<handle = {handle}, type = {kind}>"
    )


def send(b: Builder) -> None:
    host = b.flag()
    values = [b.argument(b.shape(), b.element("FPIC"))]
    attributes = f"{channel(2 if host else 1)}, is_host_transfer = {str(host).lower()}"
    if not host:
        attributes += f", source_target_pairs = {pairs([[0, 1], [1, 2]])}"
    b.give(*b.op("stablehlo.send", [*values, b.opaque(TOKEN)], [TOKEN], attributes))


def recv(b: Builder) -> None:
    host = b.flag()
    types = [Tensor(b.shape(), b.element("FPIC")), TOKEN]
    attributes = f"{channel(3 if host else 1)}, is_host_transfer = {str(host).lower()}"
    b.give(*b.op("stablehlo.recv", [b.opaque(TOKEN)], types, attributes))


def custom_call(b: Builder) -> None:
    values = [b.argument(b.shape(), b.element("FPIC")) for _ in range(2)]
    b.runs = False
    target = b.rng.choice(["Sharding", "foo.bar", "a b", "xla.sdy.x", "check.eq"])
    attributes = f'call_target_name = "{target}"'
    if b.flag():
        attributes += ", has_side_effect = true"
    if b.flag(0.3):
        attributes += ", api_version = 4 : i32, backend_config = {k = 1 : i64}"
    elif b.flag(0.3):
        attributes += ', api_version = 2 : i32, backend_config = "\\08\\22"'
    results = [v.type for v in values][: b.rng.randint(0, 2)]
    if b.flag(0.3):

        def layouts(types) -> str:
            return ", ".join(
                "dense<"
                + (
                    f"[{', '.join(str(i) for i in range(len(t.shape)))}]"
                    * bool(t.shape)
                )
                + f"> : tensor<{len(t.shape)}xindex>"
                for t in types
            )

        attributes += f", operand_layouts = [{layouts([v.type for v in values])}]"
        attributes += f", result_layouts = [{layouts(results)}]"
    elif results and b.flag(0.3):
        attributes += (
            ", output_operand_aliases = [#stablehlo.output_operand_alias<"
            f"output_tuple_indices = [{'0' if len(results) > 1 else ''}], "
            "operand_index = 0, operand_tuple_indices = []>]"
        )
    b.give(*b.op("stablehlo.custom_call", values, results, attributes))


def tuples(b: Builder) -> None:
    values = [b.argument(b.shape(), b.element("FPIC")) for _ in range(2)]
    kind = f"tuple<{', '.join(str(v.type) for v in values)}>"
    (pair,) = b.op("stablehlo.tuple", values, [kind])
    index = b.rng.randint(0, 1)
    attributes = f"index = {index} : i32"
    types = [values[index].type]
    b.give(*b.op("stablehlo.get_tuple_element", [pair], types, attributes))


def optimization_barrier(b: Builder) -> None:
    values = [
        b.argument(b.shape(), b.element("FPIC")) for _ in range(b.rng.randint(1, 3))
    ]
    types = [v.type for v in values]
    b.give(*b.op("stablehlo.optimization_barrier", values, types))


def identity(name: str):
    def draw(b: Builder) -> None:
        b.give(*b.op(f"stablehlo.{name}", [], [Tensor((), "ui32")]))

    return draw


def groups(b: Builder, count: int) -> str:
    rows = [[i * count + j for j in range(count)] for i in range(1)]
    text = ", ".join(f"[{', '.join(map(str, row))}]" for row in rows)
    found = f"replica_groups = dense<[{text}]> : tensor<{len(rows)}x{count}xi64>"
    if b.flag(0.3):
        found += f", {channel(1)}, use_global_device_ids"
    return found


def devices(b: Builder) -> int:
    count = b.rng.choice([1, 1, 2])
    b.runs = b.runs and count == 1
    return count


def all_gather(b: Builder) -> None:
    count = devices(b)
    shape = tuple(max(n, 1) for n in b.shape(1))
    dim = b.rng.randrange(len(shape))
    x = b.argument(shape, b.element("FPIC"))
    whole = (*shape[:dim], shape[dim] * count, *shape[dim + 1 :])
    attributes = f"all_gather_dim = {dim} : i64, {groups(b, count)}"
    types = [Tensor(whole, x.type.element)]
    b.give(*b.op("stablehlo.all_gather", [x], types, attributes))


def sum_of(b: Builder, element: str) -> str:
    name = b.rng.choice(REDUCERS[class_of(element)])
    return b.region(
        [scalar(element)] * 2,
        lambda values: b.op(f"stablehlo.{name}", values, [scalar(element)]),
    )


def all_reduce(b: Builder) -> None:
    element = b.element("FPI")
    x = b.argument(b.shape(), element, tame=True)
    attributes = groups(b, devices(b))
    body = sum_of(b, element)
    b.give(*b.op("stablehlo.all_reduce", [x], [x.type], attributes, [body]))


def reduce_scatter(b: Builder) -> None:
    count = devices(b)
    shape = tuple(max(n, 1) for n in b.shape(1))
    dim = b.rng.randrange(len(shape))
    whole = (*shape[:dim], shape[dim] * count, *shape[dim + 1 :])
    x = b.argument(whole, b.element("FPI"), tame=True)
    attributes = f"scatter_dimension = {dim} : i64, {groups(b, count)}"
    body = sum_of(b, x.type.element)
    types = [Tensor(shape, x.type.element)]
    b.give(*b.op("stablehlo.reduce_scatter", [x], types, attributes, [body]))


def all_to_all(b: Builder) -> None:
    count = devices(b)
    shape = tuple(max(n, 1) * count for n in b.shape(1))
    split, concat = (b.rng.randrange(len(shape)) for _ in range(2))
    sizes = list(shape)
    sizes[split] //= count
    sizes[concat] *= count
    x = b.argument(shape, b.element("FPIC"))
    rows = ", ".join(map(str, range(count)))
    attributes = (
        f"split_dimension = {split} : i64, concat_dimension = {concat} : i64, "
        f"split_count = {count} : i64, "
        f"replica_groups = dense<[[{rows}]]> : tensor<1x{count}xi64>"
    )
    types = [Tensor(tuple(sizes), x.type.element)]
    b.give(*b.op("stablehlo.all_to_all", [x], types, attributes))


def collective_permute(b: Builder) -> None:
    count = devices(b)
    x = b.argument(b.shape(), b.element("FPIC"))
    moves = [[i, (i + 1) % count] for i in range(count)]
    attributes = f"source_target_pairs = {pairs(moves)}, {channel(1)}"
    b.give(*b.op("stablehlo.collective_permute", [x], [x.type], attributes))


def collective_broadcast(b: Builder) -> None:
    count = devices(b)
    x = b.argument(b.shape(), b.element("FPIC"))
    rows = ", ".join(map(str, range(count)))
    attributes = f"replica_groups = dense<[[{rows}]]> : tensor<1x{count}xi64>"
    b.give(*b.op("stablehlo.collective_broadcast", [x], [x.type], attributes))


def cross_replica_sum(b: Builder) -> None:
    x = b.argument(b.shape(), b.element("fI"), tame=True)
    attributes = "replica_groups = dense<[[0]]> : tensor<1x1xi64>"
    b.give(*b.op("stablehlo.cross-replica-sum", [x], [x.type], attributes))


def asynchronous(b: Builder) -> None:
    x = b.argument(tuple(max(n, 1) for n in b.shape(1)), b.element("FPI"))
    b.runs = False
    ends = [n if b.flag() else 1 for n in x.type.shape]
    part = Tensor(tuple(ends), x.type.element)

    def write(values):
        attributes = (
            f"start_indices = {i64s([0] * len(ends))}, limit_indices = {i64s(ends)}, "
            f"strides = {i64s([1] * len(ends))}"
        )
        return b.op("stablehlo.slice", values, [part], attributes)

    future = f"!stablehlo.future<{part}>"
    body = b.region([x.type], write)
    (started,) = b.op("stablehlo.async_start", [x], [future], "", [body])
    b.give(*b.op("stablehlo.async_done", [started], [part]))


OPS = {
    "stablehlo.after_all": tokens,
    "stablehlo.all_gather": all_gather,
    "stablehlo.all_reduce": all_reduce,
    "stablehlo.all_to_all": all_to_all,
    "stablehlo.async_start": asynchronous,
    "stablehlo.collective_broadcast": collective_broadcast,
    "stablehlo.collective_permute": collective_permute,
    "stablehlo.cross-replica-sum": cross_replica_sum,
    "stablehlo.custom_call": custom_call,
    "stablehlo.infeed": infeed,
    "stablehlo.optimization_barrier": optimization_barrier,
    "stablehlo.outfeed": outfeed,
    "stablehlo.partition_id": identity("partition_id"),
    "stablehlo.recv": recv,
    "stablehlo.reduce_scatter": reduce_scatter,
    "stablehlo.replica_id": identity("replica_id"),
    "stablehlo.rng": rng,
    "stablehlo.rng_bit_generator": rng_bit_generator,
    "stablehlo.send": send,
    "stablehlo.tuple": tuples,
}
