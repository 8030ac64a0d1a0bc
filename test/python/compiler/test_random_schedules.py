"""The scheduler against its definition, on random programs.

The model below does what the definition says, pair by pair: collect the units,
ask for each pair that data flow leaves open, add an edge, then sweep. It knows
nothing of how the pass does it. Programs are random graphs of fragments and
transfers with gaps and repetitions in their counters, so schedules often
contradict data flow.
"""

import dataclasses
import random
import re

import pytest

SEEDS = range(60)


@dataclasses.dataclass
class Op:
    """An op of the block; `reads` are positions of earlier ones."""

    mesh: int
    kind: str | None  # F, B, W; None if it is no unit
    counter: int = 0
    stage: int | None = None
    reads: list[int] = dataclasses.field(default_factory=list)
    is_transfer: bool = False


# ---------------------------------------------------------------- the relations


def is_forward(op: Op) -> bool:
    return op.kind == "F"


def gpipe(f, g, m, n):
    return (not is_forward(f), f.counter) < (not is_forward(g), g.counter)


def one_f_one_b(f, g, m, n):
    if is_forward(f) == is_forward(g):
        return f.counter < g.counter
    ahead = n - m - 1 if is_forward(f) else -n + m
    return f.counter == g.counter + ahead


def mixed(f, g, m, n):
    return (one_f_one_b if m == n - 1 else gpipe)(f, g, m, n)


def zero_bubble_h1(f, g, m, n):
    ahead = {"FB": n - m - 1, "BF": m - n, "BW": m, "WF": -n, "WB": -m - 1}
    pair = f.kind + g.kind
    return pair in ahead and f.counter - g.counter == ahead[pair]


def zero_bubble_h2(halves):
    def relation(f, g, m, n):
        def warm_up(k):
            return 2 * (n - k) - 1 + halves * (n - k - 1)

        e, mirrored = warm_up(m), warm_up(n - m - 1)
        c, d = f.counter, g.counter
        return {
            "FB": c < e or (c >= e and c - d == e - 1),
            "FW": c < e,
            "BF": d >= e and d - c == e,
            "BW": c - d == mirrored - 1,
            "WB": d - c == mirrored,
        }.get(f.kind + g.kind, False)

    return relation


def circular(is_reversed):
    def relation(f, g, m, n):
        if f.stage is None or g.stage is None:
            return False
        if is_forward(f) != is_forward(g):
            return is_forward(f)

        def key(op, sign):
            return (op.counter // n, sign * op.stage, op.counter)

        if is_forward(f):
            return key(f, 1) < key(g, 1)
        if is_reversed:
            return key(f, 1) > key(g, 1)
        return key(f, -1) < key(g, -1)

    return relation


RELATIONS = {
    "none": lambda f, g, m, n: False,
    "GPipe": gpipe,
    "1F1B": one_f_one_b,
    "GPipeBut1F1BForLastMesh": mixed,
    "ZeroBubbleH1": zero_bubble_h1,
    "ZeroBubbleH2ZeroTxLatency": zero_bubble_h2(0),
    "ZeroBubbleH2HalfTxLatency": zero_bubble_h2(1),
    "ZeroBubbleH2FullTxLatency": zero_bubble_h2(2),
    "Circular": circular(False),
    "CircularWithReversedBackward": circular(True),
}


# ---------------------------------------------------------------- the definition


def has_path(users: list[set[int]], start: int, end: int) -> bool:
    visited, stack = set(), [start]
    while stack:
        op = stack.pop()
        if op > end or op in visited:
            continue
        if op == end:
            return True
        visited.add(op)
        stack.extend(users[op])
    return False


def schedule(ops: list[Op], relation, meshes: int) -> list[int]:
    """The positions of the ops in their new order."""
    reads = [set(op.reads) for op in ops]
    users = [set() for _ in ops]
    for position, producers in enumerate(reads):
        for producer in producers:
            users[producer].add(position)
    units = [position for position, op in enumerate(ops) if op.kind]
    for f in units:
        for g in units:
            if f == g or ops[f].mesh != ops[g].mesh:
                continue
            if has_path(users, f, g) or has_path(users, g, f):
                continue
            if relation(ops[f], ops[g], ops[f].mesh, meshes):
                users[f].add(g)
                reads[g].add(f)
    order: list[int] = []
    waiting = list(range(len(ops)))
    while waiting:
        done, left = set(order), []
        for position in waiting:
            if reads[position] <= done:
                order.append(position)
                done.add(position)
            else:
                left.append(position)
        assert len(left) < len(waiting), "no cycle can arise"
        waiting = left
    return order


# ---------------------------------------------------------------- programs


def generate(seed: int, *, meshes: int, pipeline: bool) -> list[Op]:
    chance = random.Random(seed)
    ops: list[Op] = []
    for _ in range(chance.randrange(4, 28)):
        mesh = chance.randrange(meshes)
        kind = chance.choice(["F", "F", "B", "B", "W", None])
        stage = None if chance.random() < 0.2 else chance.randrange(3)
        op = Op(mesh, kind, chance.randrange(6), stage)
        earlier = [i for i, other in enumerate(ops) if not pipeline or op_fits(other)]
        for producer in chance.sample(earlier, min(len(earlier), chance.randrange(3))):
            if ops[producer].mesh != mesh:
                transfer = Op(mesh, None, reads=[producer], is_transfer=True)
                ops.append(transfer)
                producer = len(ops) - 1
            op.reads.append(producer)
        ops.append(op)
    return ops


def op_fits(other: Op) -> bool:
    """Reading little leaves more to the schedule."""
    return other.kind == "F"


T = "tensor<4xf32>"


def mesh_type(mesh: int) -> str:
    return f'!mpmd.mesh_tensor<"m{mesh}", {T}>'


def print_program(ops: list[Op], meshes: int) -> str:
    lines = []
    for position, op in enumerate(ops):
        values = [f"%v{producer}" for producer in op.reads] or [f"%x{op.mesh}"]
        if op.is_transfer:
            source = ops[op.reads[0]].mesh
            lines.append(
                f"%v{position} = mpmd.transfer {{position = {position}}} {values[0]} : "
                f"({mesh_type(source)}) -> {mesh_type(op.mesh)}"
            )
            continue
        origin = {"F": '"f"', "B": '"f"(1)', "W": '"f"(1)', None: ""}[op.kind]
        attributes = [f"position = {position}"]
        if op.kind:
            attributes.append(f"call_counter = {op.counter} : ui32")
        if op.kind == "W":
            attributes.append("split_drop_transferred")
        stage = "" if op.stage is None else f", stage={op.stage}"
        arguments = ", ".join(f"%a{i}: {T}" for i in range(len(values)))
        types = ", ".join([mesh_type(op.mesh)] * len(values))
        lines.append(
            f'%v{position} = mpmd.fragment<mesh="m{op.mesh}", origin=[{origin}]{stage}>'
            f" ({', '.join(values)}) {{{', '.join(attributes)}}} ({arguments}) {{\n"
            f"    mpmd.return %a0 : {T}\n  }} : ({types}) -> {mesh_type(op.mesh)}"
        )
    topology = ", ".join(f'<"m{m}" : <["x"=2]>>' for m in range(meshes))
    parameters = ", ".join(f"%x{m}: {mesh_type(m)}" for m in range(meshes))
    values = ", ".join(f"%v{position}" for position in range(len(ops)))
    types = ", ".join(mesh_type(op.mesh) for op in ops)
    return (
        f"func.func @main({parameters}) -> ({types}) "
        f"attributes {{topology = #mpmd.topology<{topology}>}} {{\n  "
        + "\n  ".join(lines)
        + f"\n  return {values} : {types}\n}}\n"
    )


def positions(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"position = (\d+)", text)]


@pytest.mark.parametrize("seed", SEEDS)
def test_orders_are_those_of_the_definition(tools, seed):
    meshes = 1 + seed % 3
    ops = generate(seed, meshes=meshes, pipeline=seed % 2 == 0)
    text = print_program(ops, meshes)
    names = list(RELATIONS)
    for name in [names[seed % len(names)], random.Random(seed).choice(names)]:
        expected = schedule(ops, RELATIONS[name], meshes)
        found = tools.opt(text, f"--mpmd-pipeline-scheduler=must-happen-before={name}")
        assert positions(found) == expected, name


# Edges that are kept are those of the definition as well; a merge without matches
# removes them again.
@pytest.mark.parametrize("seed", SEEDS[:20])
def test_orders_are_the_same_with_kept_edges(tools, seed):
    meshes = 1 + seed % 3
    ops = generate(seed, meshes=meshes, pipeline=seed % 2 == 0)
    name = list(RELATIONS)[1 + seed % (len(RELATIONS) - 1)]
    rule = 'FragmentMergeRule(sources=[],target=FragmentInfo(origins=["none"]))'
    found = tools.opt(
        print_program(ops, meshes),
        f"--mpmd-pipeline-scheduler=must-happen-before={name} "
        "remove-control-dependencies=false",
        f"--mpmd-rule-based-merge=rules={rule}",
    )
    assert "mpmd.control" not in found
    assert positions(found) == schedule(ops, RELATIONS[name], meshes)
