"""What holds for the order of every mesh, for random shapes of pipelines."""

import random

import pytest
from meshwright.compiler.schedules import builtin_schedules
from test_plan_schedules import read_orders, read_plan, write_program

SEEDS = range(12)
SEVERAL_STAGES = ["Circular", "CircularWithReversedBackward"]
# A new relation is among them by itself. A ring has no backward pass.
RELATIONS = [
    name
    for name, schedule in builtin_schedules().items()
    if schedule.is_relation and name != "ParallelPipelinesWithWrapAround"
]


def make_shape(seed: int, name: str) -> list[str]:
    chance = random.Random(f"{seed}{name}")
    stages = chance.randrange(1, 4) if name in SEVERAL_STAGES else 1
    return [
        f"--meshes={chance.randrange(1, 6)}",
        f"--microbatches={chance.randrange(1, 12)}",
        f"--stages-per-mesh={stages}",
    ]


def find_inputs(action, work):
    stage, kind, microbatch = action
    wanted = {
        "F": [(stage - 1, "F")],
        "B": [(stage, "F"), (stage + 1, "B"), (stage + 1, "I")],
        "I": [(stage, "F"), (stage + 1, "B"), (stage + 1, "I")],
        "W": [(stage, "F"), (stage + 1, "B"), (stage + 1, "I")],
    }[kind]
    return [(s, k, microbatch) for s, k in wanted if (s, k, microbatch) in work]


def run_queues(rows) -> int:
    """How many actions run if each mesh waits for the inputs of its next only."""
    work = {action for row in rows for action in row}
    done: set = set()
    position = [0] * len(rows)
    while True:
        before = len(done)
        for mesh, row in enumerate(rows):
            while position[mesh] < len(row) and done.issuperset(
                find_inputs(row[position[mesh]], work)
            ):
                done.add(row[position[mesh]])
                position[mesh] += 1
        if len(done) == before:
            return before


def count_live(row) -> int:
    """The most forwards whose gradient of the input is still to come."""
    live = most = 0
    for _, kind, _ in row:
        live += {"F": 1, "B": -1, "I": -1, "W": 0}[kind]
        most = max(most, live)
    return most


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_orders_run_and_keep_their_bounds(tools, name, seed):
    shape = make_shape(seed, name)
    plan = read_plan(tools.check("meshwright", "schedule", name, "--csv", *shape))
    meshes = len(plan)
    microbatches = 1 + max(microbatch for _, _, microbatch in plan[0])
    text = tools.opt(
        write_program(plan), f"--mpmd-pipeline-scheduler=must-happen-before={name}"
    )
    rows = read_orders(text, meshes)
    assert [sorted(row) for row in rows] == [sorted(row) for row in plan]
    assert run_queues(rows) == sum(map(len, rows))
    if not name.startswith("ZeroBubble"):
        # These leave nothing open in a pipeline.
        assert rows == plan
    for index, row in enumerate(rows):
        if name in ("1F1B", "ZeroBubbleH1"):
            assert count_live(row) <= meshes - index
        elif name == "GPipeBut1F1BForLastMesh" and index == meshes - 1:
            assert count_live(row) == 1
        elif name == "ZeroBubbleH2ZeroTxLatency":
            assert count_live(row) <= 2 * (meshes - index) - 1
        else:
            assert count_live(row) <= len(row) // 2
        assert microbatches == len({m for _, _, m in row})
