"""A training step for any schedule, and what a recording says of its order.

The model is a layer for each stage, so small that its fragments compile in no
time. Which action a fragment is, is read off the data flow of the program: the
microbatch of a forward by the input that reaches it, that of a backward by the
activation it reads.
"""

import functools
import json
import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import meshwright as mw
from support.tools import ROOT

MESHES, MICROBATCHES, ROWS, WIDTH, RATE = 4, 8, 4, 2, 0.1
STEPS = 2  # Of a training over processes.

# A stage, F, B, I or W, or E, G, S or T of a part of the vocabulary, and a microbatch.
Action = tuple[int, str, int]


def read_plan(csv: str) -> list[list[Action]]:
    """The list of each mesh, as `meshwright schedule NAME --csv` prints it."""
    return [
        [(int(s), k, int(m)) for s, k, m in re.findall(r"(\d+)([A-Z])(\d+)", line)]
        for line in csv.splitlines()
    ]


def count_stages(plan: list[list[Action]]) -> int:
    return 1 + max(stage for row in plan for stage, _, _ in row)


def layer(w, x):
    return jnp.tanh(x @ w)


def last_layer(w, x, y):
    return ((layer(w, x) - y) ** 2).mean()


def predict(w, x, y):
    """The loss of a head [tokens, WIDTH] at labels that the targets say."""
    log = jax.nn.log_softmax(x @ w.T)
    labels = (y[:, 0] > 0) + len(w) // 2
    return -jnp.take_along_axis(log, labels[:, None], 1).mean()


def make_head_loss(stages):
    """The same, where the second half of the stages are parts of a head."""
    _, head = mw.pipeline.vocabulary(lambda w: w, predict)

    def loss(weights, x, y):
        for w, stage in zip(weights[: len(stages) // 2], stages, strict=False):
            x = mw.named_computation(layer, name=f"stage{stage}")(w, x)
        return head(mw.pipeline.Parts(weights[len(stages) // 2 :]), x, y)

    return loss


def make_loss(stages):
    """The loss of one microbatch that goes through these stages."""

    def loss(weights, x, y):
        for w, stage in zip(weights[:-1], stages[:-1], strict=True):
            x = mw.named_computation(layer, name=f"stage{stage}")(w, x)
        last = mw.named_computation(last_layer, name=f"stage{stages[-1]}")
        return last(weights[-1], x, y)

    return loss


def jit_call(fn, call_counter):
    """In place of `mw.call`, in a step that is not compiled as a whole: its
    microbatches share one small program."""
    return jax.jit(fn)


def make_step(stages: int, copies: int = 1, make_loss=make_loss, call=mw.call):
    """A step of gradient descent, with the gradient inside of each call.

    With two copies of the model, each half of the stages is one; half of the
    microbatches go through each, and both get the sum of their gradients.
    """
    of_copy = [list(part) for part in np.split(np.arange(stages), copies)]
    gradients = [jax.value_and_grad(make_loss(mine)) for mine in of_copy]

    def step(weights, xs, ys):
        total, sums = None, [None] * copies
        for m in range(MICROBATCHES):
            copy = m * copies // MICROBATCHES
            mine = [weights[s] for s in of_copy[copy]]
            loss, grads = call(gradients[copy], call_counter=m)(mine, xs[m], ys[m])
            total = loss if total is None else total + loss
            if sums[copy] is not None:
                grads = jax.tree.map(jnp.add, sums[copy], grads)
            sums[copy] = grads
        grads = sums[0]
        if copies > 1:
            both = zip(*sums, strict=True)
            grads = copies * [mw.reduce(a + b) for a, b in both]
        updated = [w - RATE * g for w, g in zip(weights, grads, strict=True)]
        return total / MICROBATCHES, updated

    return step


def make_inputs(stages: int, copies: int = 1):
    random = np.random.default_rng(0)

    def draw(*shape):
        return random.normal(size=shape).astype(np.float32)

    weights = [draw(WIDTH, WIDTH) for _ in range(stages // copies)]
    xs, ys = ([draw(ROWS, WIDTH) for _ in range(MICROBATCHES)] for _ in range(2))
    return copies * weights, xs, ys


def make_topology(devices: int) -> dict[str, Mesh]:
    """Four meshes of this many devices; the names are in no order."""
    all_devices = np.array(jax.devices()[: MESHES * devices]).reshape(MESHES, devices)
    names = ("first", "encoder", "decoder", "a")
    return {n: Mesh(d, "x") for n, d in zip(names, all_devices, strict=True)}


def stage_config(
    schedule: str, topology: dict[str, Mesh], stages: int, options: dict, **more
):
    """Stages with names, each on the mesh that a schedule has for it."""
    where = mw.pipeline.stage_assignment(schedule, topology, stages)
    return mw.make_config(
        topology,
        {f"stage{stage}": mesh for stage, mesh in where.items()},
        name_to_stage_assignment={f"stage{stage}": stage for stage in where},
        partitioning_options={"mpmd_infer_transfers": True, **options},
        **more,
    )


def write_patient_device(folder: pathlib.Path, **others) -> str:
    """A file of a device whose launches take long enough for a thread to issue all
    meshes, and for a host to take what waits; with other figures, too."""
    known = json.loads((ROOT / "meshwright/Cost/devices.json").read_text())
    figures = {**known["cpu"], "launch_s": 1e-4, "latency_s": 1e-5, **others}
    (folder / "device.json").write_text(json.dumps({"patient": figures}))
    return str(folder / "device.json")


def find_bytes(memory) -> list[int]:
    """What the account says of a mesh, to be compared with that of other runs."""
    on_devices = [memory.argument_bytes, memory.output_bytes, memory.live_bytes]
    return [*on_devices, memory.host_live_bytes]


def make_meshes(sizes) -> dict[str, Mesh]:
    """Meshes of this many devices, side by side."""
    ends = np.cumsum(sizes)
    return {
        f"m{i}": Mesh(jax.devices()[end - size : end], "x")
        for i, (end, size) in enumerate(zip(ends, sizes, strict=True))
    }


@functools.cache
def train_plainly(
    stages: int, copies: int, steps: int, make_loss=make_loss
) -> list[float]:
    """The losses of the same steps without meshes; many schedules share them."""
    step = make_step(stages, copies, make_loss, jit_call)
    weights, xs, ys = make_inputs(stages, copies)
    losses = []
    for _ in range(steps):
        loss, weights = step(weights, xs, ys)
        losses.append(float(loss))
    return losses


def count_copies(schedule: str) -> int:
    """How many copies of the model a schedule trains."""
    return 2 if schedule in ("DualPipe", "DUAL_PIPE") else 1


def loss_for(schedule: str):
    """Makes the loss of the model that a schedule trains."""
    name = schedule.replace("_", "").casefold()
    return make_head_loss if name.startswith("vocabparallel") else make_loss


def lower_training(schedule: str, stages: int, topology: dict[str, Mesh], **config):
    """A training step for a schedule, on any meshes with an axis x."""
    copies = count_copies(schedule)
    options = config.pop("options", {})
    if copies > 1:
        options = {"mpmd_infer_cross_mesh_reductions": True, **options}
    config = stage_config(schedule, topology, stages, options, **config)
    step = make_step(stages, copies, loss_for(schedule))
    mesh = next(iter(topology.values()))
    whole = NamedSharding(mesh, PartitionSpec())
    rows = NamedSharding(mesh, PartitionSpec("x"))
    train = mw.jit(step, config, in_shardings=(whole, rows, rows), donate_argnums=0)
    return train.lower(*as_types(make_inputs(stages, copies)))


def as_types(tree):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)


class Trained:
    """A schedule that trained a few steps beside `jax.jit`.

    Attributes:
      difference: the largest between two losses.
      orders: what each mesh issued in the last step.
      lives: peak of live activations on each mesh in that step.
    """

    def __init__(self, schedule: str, plan, devices: int, steps: int = 2, **config):
        stages, self.topology = count_stages(plan), make_topology(devices)
        # Of a pair, an order shows the two in turn.
        config["options"] = {
            "mpmd_fuse_overlapped_pairs": False,
            **config.get("options", {}),
        }
        lowered = lower_training(schedule, stages, self.topology, **config)
        copies = count_copies(schedule)
        weights, xs, ys = make_inputs(stages, copies)
        self.program = lowered.partitioning_result.program
        compiled = lowered.compile()
        ours, xs, ys = jax.tree.map(
            jax.device_put, (weights, xs, ys), compiled.input_shardings[0]
        )
        self.difference = 0.0
        for expected in train_plainly(stages, copies, steps, loss_for(schedule)):
            with mw.profile() as recording:
                loss, ours = compiled(ours, xs, ys)
            self.difference = max(self.difference, abs(float(loss) - expected))
        self.orders, self.lives = find_issued(self.program, self.topology, recording)


def find_issued(
    program: dict,
    topology: dict[str, Mesh],
    recording,
    sequence_chunks: int = 1,
    names: dict[str, int] | None = None,
) -> tuple[list[list[Action]], list[int]]:
    """What each mesh issued, and its peak of live activations meanwhile.

    `names` has the stages of computations that are not called after them.
    """
    is_cut = sequence_chunks > 1
    actions = (
        find_units(program, sequence_chunks) if is_cut else find_actions(program, names)
    )
    rows = {mesh: [] for mesh in topology}
    for event in recording.events:
        if event.kind == "fragment" and event.item in actions:
            rows[event.mesh].append((event.item, actions[event.item]))
    weights = {
        entry["value"]
        for entry in program["inputs"]
        if (entry["name"] or "").startswith(("weights", "args[0]"))
    }
    orders = [[action for _, action in row] for row in rows.values()]
    # Parts of a vocabulary are no stages of what is live.
    chains = [[unit for unit in row if unit[1][1] in "FBIW"] for row in rows.values()]
    return orders, [count_live(program, row, weights) for row in chains]


# A stage, or a part of the vocabulary: which of a mesh, and its letters.
CHUNKS = {
    "stage": (0, "F"),
    "vocabulary_head": (1, "ST"),
    "vocabulary_embedding": (2, "EG"),
}


def find_actions(
    program: dict, names: dict[str, int] | None = None
) -> dict[int, Action]:
    """Which action each item is, of those that belong to a stage."""
    microbatches = {}  # Of inputs and of what forwards make of them.
    for entry in program["inputs"]:
        # Where weights are in parts, arguments have no names but their positions.
        inputs = r"(?:(?!weights)\w*s|args\[[12]\])\[(\d+)\]"
        if found := re.fullmatch(inputs, entry["name"] or ""):
            microbatches[entry["value"]] = int(found[1])
    found: dict[int, Action] = {}
    seen: set[tuple[int, int]] = set()
    for index, item in enumerate(program["items"]):
        if item["kind"] == "transfer":
            if item["operand"] in microbatches:
                microbatches[item["result"]] = microbatches[item["operand"]]
            continue
        origins = [re.fullmatch(r"(\w+)(\(1\))?", o) for o in item["origins"]]
        reads = {microbatches[v] for v in item["operands"] if v in microbatches}
        if not origins:
            # A sum of what belongs to several is of none.
            if len(reads) == 1:
                microbatches |= dict.fromkeys(item["results"], *reads)
            continue
        ((name, transposed),) = {(o[1], bool(o[2])) for o in origins}
        chunk, letters = 0, "F"
        if names is not None:
            stage = names[name]
        else:
            kind, number = re.fullmatch(r"(\D+)(\d+)", name).groups()
            chunk, letters = CHUNKS[kind]
            stage = chunk * MESHES + int(number)
        (microbatch,) = reads
        if not transposed:
            kind = letters[0]
            for value in item["results"]:
                if program["values"][value]["shape"]:  # Not the loss.
                    microbatches[value] = microbatch
        elif chunk:
            kind = letters[1]
        else:
            kind = "W" if (stage, microbatch) in seen else "I"
            seen.add((stage, microbatch))
        found[index] = stage, kind, microbatch
    split = {(s, m) for s, kind, m in found.values() if kind == "W"}
    return {
        index: (s, "B" if kind == "I" and (s, m) not in split else kind, m)
        for index, (s, kind, m) in found.items()
    }


def find_units(program: dict, chunks: int) -> dict[int, Action]:
    """Which action each item is, with the number of its unit for the microbatch.

    The first chunk of a microbatch reads nothing of its stage, each other one what the
    one before it left there. Microbatches count as they enter the first stage.
    """
    found: dict[int, Action] = {}
    maker: dict[int, Action] = {}
    entered = 0
    for index, item in enumerate(program["items"]):
        if item["kind"] == "transfer":
            if item["operand"] in maker:
                maker[item["result"]] = maker[item["operand"]]
            continue
        origins = [re.fullmatch(r"stage(\d+)(\(1\))?", o) for o in item["origins"]]
        if not origins:
            continue
        ((stage, transposed),) = {(int(o[1]), bool(o[2])) for o in origins}
        read = [maker[value] for value in item["operands"] if value in maker]
        own = [unit for s, kind, unit in read if (s, kind) == (stage, "F")]
        if transposed:
            unit = max(own)
        elif stage:
            (unit,) = {unit for s, kind, unit in read if (s, kind) == (stage - 1, "F")}
        else:
            unit = max(own) + 1 if own else chunks * entered
            entered += not own
        found[index] = stage, "B" if transposed else "F", unit
        maker |= dict.fromkeys(item["results"], found[index])
    return found


def train_beside(compiled, plain, weights, batch):
    """The recording of the last of two steps, whose losses are those of `plain`."""
    ours, *placed = jax.tree.map(
        jax.device_put, (weights, *batch), compiled.input_shardings[0]
    )
    theirs = weights
    for _ in range(2):
        with mw.profile() as recording:
            found, ours = compiled(ours, *placed)
        expected, theirs = plain(theirs, *batch)
        assert abs(float(found) - float(expected)) <= 1e-5
    return recording


def draw_plan(tools, schedule, microbatches: int, orders, *options: str):
    """What `meshwright schedule` lists for these, halved as the program is."""
    csv = tools.check(
        "meshwright",
        "schedule",
        schedule.required_mpmd_options["mpmd_pipeline_schedule"],
        "--csv",
        f"--meshes={MESHES}",
        f"--microbatches={microbatches}",
        *options,
    )
    return as_split(read_plan(csv), orders)


def as_split(plan: list[list[Action]], orders: list[list[Action]]):
    """The plan with the backwards halved that the program has in halves.

    A whole backward takes the place of its first half (docs/schedules.md).
    """
    split = {(s, m) for row in orders for s, kind, m in row if kind == "W"}
    rows = []
    for row in plan:
        rows.append([])
        for s, kind, m in row:
            if (s, m) in split and kind == "B":
                rows[-1] += [(s, "I", m), (s, "W", m)]
            elif (s, m) in split or kind not in "IW":
                rows[-1].append((s, kind, m))
            elif kind == "I":
                rows[-1].append((s, "B", m))
    return rows


def count_live(program: dict, row: list[tuple[int, Action]], weights: set) -> int:
    """The peak of activations kept on a mesh, by the values that are kept.

    What a forward reads and gives is kept from its start to the last fragment of
    its stage and microbatch that reads something of it. Weights are always there.
    """
    kept: dict[tuple[int, int], set[int]] = {}
    ends: dict[tuple[int, int], int] = {}
    for position, (index, (stage, kind, microbatch)) in enumerate(row):
        item, pair = program["items"][index], (stage, microbatch)
        if kind == "F":
            kept[pair] = {*item["operands"], *item["results"]} - weights
        if not kept[pair].isdisjoint(item["operands"]):
            ends[pair] = position
    live = peak = 0
    for position, (_, (_, kind, _)) in enumerate(row):
        live += kind == "F"
        peak = max(peak, live)
        live -= sum(end == position for end in ends.values())
    return peak


def count_planned_live(row: list[Action]) -> int:
    """The peak of forwards whose backward has not ended."""
    live = peak = 0
    for _, kind, _ in row:
        live += {"F": 1, "B": -1, "W": -1}.get(kind, 0)
        peak = max(peak, live)
    return peak


def go(m, weights, x):
    """A forward that enters a ring of stages at stage m."""
    for stage in [(m + i) % MESHES for i in range(MESHES)]:
        x = mw.named_computation(layer, name=f"stage{stage}")(weights[stage], x)
    return x


def forward(weights, xs):
    return [
        mw.call(functools.partial(go, m), call_counter=m)(weights, x)
        for m, x in enumerate(xs)
    ]


def make_ring_inputs():
    weights, xs, _ = make_inputs(MESHES)
    return weights, xs[:MESHES]


def lower_ring(topology: dict[str, Mesh], options: dict | None = None):
    """Forwards on a ring, where microbatch m enters at mesh m."""
    name = "ParallelPipelinesWithWrapAround"
    where = mw.pipeline.stage_assignment(name, topology, MESHES)
    config = mw.make_config(
        topology,
        {f"stage{stage}": mesh for stage, mesh in where.items()},
        name_to_stage_assignment={f"stage{stage}": stage for stage in where},
        partitioning_options={"mpmd_infer_transfers": True, **(options or {})},
        pipeline_schedule=mw.get_pipeline_schedule(name),
    )
    mesh = next(iter(topology.values()))
    split = [
        NamedSharding(mesh, spec) for spec in (PartitionSpec(), PartitionSpec("x"))
    ]
    ring = mw.jit(forward, config, in_shardings=tuple(split))
    return ring.lower(*as_types(make_ring_inputs()))


def go_round(
    topology: dict[str, Mesh], options: dict | None = None
) -> tuple[float, list[list[int]]]:
    """Runs forwards on a ring, where microbatch m enters at mesh m.

    Returns:
      The largest difference from `jax.jit`, and the microbatches that each mesh
      took, in the order in which it issued them.
    """
    lowered, (weights, xs) = lower_ring(topology, options), make_ring_inputs()
    compiled = lowered.compile()
    placed = jax.tree.map(jax.device_put, (weights, xs), compiled.input_shardings[0])
    with mw.profile() as recording:
        found = compiled(*placed)
    pairs = zip(found, jax.jit(forward)(weights, xs), strict=True)
    difference = max(float(np.abs(np.asarray(a) - b).max()) for a, b in pairs)

    program = lowered.partitioning_result.program
    inputs = program["inputs"][-MESHES:]
    microbatches = {entry["value"]: m for m, entry in enumerate(inputs)}
    rows: dict[str, list[int]] = {mesh: [] for mesh in topology}
    for item in program["items"]:
        is_call = item["kind"] == "call"
        reads = item["operands"] if is_call else [item["operand"]]
        (m,) = {microbatches[value] for value in reads if value in microbatches}
        results = item["results"] if is_call else [item["result"]]
        microbatches |= dict.fromkeys(results, m)
    for event in recording.events:
        if event.kind == "fragment":
            item = program["items"][event.item]
            rows[event.mesh].append(microbatches[item["results"][0]])
    return difference, list(rows.values())
