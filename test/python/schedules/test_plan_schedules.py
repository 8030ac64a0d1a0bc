"""Schedules with complete lists, applied to pipelines with their stages.

The programs are written microbatch by microbatch, with the stages placed and
the backward split as the schedule has it; the pass must give each mesh exactly
the list that `meshwright schedule --csv` prints, which the unit tests compare
with published tables.
"""

import json
import os
import re

import pytest

T = "tensor<4xf32>"
TRANSPOSED = dict.fromkeys("FES", "") | dict.fromkeys("BIWGT", "(1)")
MARKS = {
    "I": ", split_keep_transferred",
    "W": ", split_drop_transferred",
}


def mesh_type(mesh: int) -> str:
    return f'!mpmd.mesh_tensor<"m{mesh}", {T}>'


def read_plan(csv: str) -> list[list[tuple[int, str, int]]]:
    """Stage, letter and microbatch of each action, mesh by mesh."""
    return [
        [(int(s), k, int(m)) for s, k, m in re.findall(r"(\d+)([A-Z])(\d+)", line)]
        for line in csv.splitlines()
    ]


def write_program(
    plan: list[list[tuple[int, str, int]]], reads: dict[int, list[int]] | None = None
) -> str:
    """A program with the work of a plan, one microbatch after another.

    `reads` has the stages that each one reads; by default it is the one before.
    """
    homes = {s: mesh for mesh, row in enumerate(plan) for s, _, _ in row}
    work = {action for row in plan for action in row}
    lines: list[str] = []

    def move(value: str, source: int, target: int, result: str) -> str:
        if source == target:
            return value
        lines.append(
            f"{result} = mpmd.transfer {value} : ({mesh_type(source)}) "
            f"-> {mesh_type(target)}"
        )
        return result

    def compute(s: int, kind: str, m: int, values: list[str]) -> None:
        mesh = homes[s]
        arguments = ", ".join(f"%a{i}: {T}" for i in range(len(values)))
        types = ", ".join([mesh_type(mesh)] * len(values))
        lines.append(
            f'%{kind}{s}_{m} = mpmd.fragment<mesh="m{mesh}", '
            f'origin=["f"{TRANSPOSED[kind]}], stage={s}> ({", ".join(values)}) '
            f"{{call_counter = {m} : ui32{MARKS.get(kind, '')}}} ({arguments}) {{\n"
            f"    mpmd.return %a0 : {T}\n  }} : ({types}) -> {mesh_type(mesh)}"
        )

    results = []
    for m in sorted({m for _, _, m in work}):
        stages = sorted(s for s, kind, other in work if other == m and kind == "F")
        before = reads or {s: [s - 1] if s > stages[0] else [] for s in stages}
        # Parts of the embedding and of the head, which may be absent.
        embeddings = sorted(s for s, kind, n in work if n == m and kind == "E")
        heads = sorted(s for s, kind, n in work if n == m and kind == "S")

        def sent(kind: str, source: int, target: int, m: int = m) -> str:
            name = f"%{kind}{source}_{m}"
            return move(name, homes[source], homes[target], f"{name}_to{target}")

        for s in embeddings:
            compute(s, "E", m, [f"%x{homes[s]}"])
        for s in stages:
            values = [sent("F", b, s) for b in before[s]]
            values = values or [sent("E", part, s) for part in embeddings]
            compute(s, "F", m, values or [f"%x{homes[s]}"])
        for s in heads:
            compute(s, "S", m, [sent("F", stages[-1], s)])
        for s in heads:
            compute(s, "T", m, [sent("S", part, s) for part in heads])
            results.append((f"%T{s}_{m}", homes[s]))
        for s in reversed(stages):
            values = [
                sent("B" if (a, "B", m) in work else "I", a, s)
                for a in stages
                if s in before[a]
            ]
            values = values or [sent("T", part, s) for part in heads]
            for kind in "BIW":
                if (s, kind, m) in work:
                    own = values or [f"%F{s}_{m}"]
                    compute(s, kind, m, [*own, f"%F{s}_{m}"])
                    results.append((f"%{kind}{s}_{m}", homes[s]))
        for s in embeddings:
            compute(s, "G", m, [sent("B", stages[0], s), f"%E{s}_{m}"])
            results.append((f"%G{s}_{m}", homes[s]))
    names = ", ".join(name for name, _ in results)
    types = ", ".join(mesh_type(mesh) for _, mesh in results)
    topology = ", ".join(f'<"m{m}" : <["x"=2]>>' for m in range(len(plan)))
    parameters = ", ".join(f"%x{m}: {mesh_type(m)}" for m in range(len(plan)))
    return (
        f"func.func @main({parameters}) -> ({types}) "
        f"attributes {{topology = #mpmd.topology<{topology}>}} {{\n  "
        + "\n  ".join(lines)
        + f"\n  return {names} : {types}\n}}\n"
    )


FRAGMENT = re.compile(
    r'mpmd\.fragment<mesh="m(\d+)", origin=\["f"(\(1\))?\], stage=(\d+)>'
    r".*?call_counter = (\d+) : ui32([^}]*)"
)


def read_orders(text: str, meshes: int) -> list[list[tuple[int, str, int]]]:
    rows: list[list[tuple[int, str, int]]] = [[] for _ in range(meshes)]
    for mesh, transposed, stage, counter, marks in FRAGMENT.findall(text):
        kind = "B" if transposed else "F"
        kind = "I" if "keep" in marks else "W" if "drop" in marks else kind
        rows[int(mesh)].append((int(stage), kind, int(counter)))
    return rows


def as_program(plan):
    """The letters that fragments tell: parts of a vocabulary are stages to them."""
    letters = {"E": "F", "S": "F", "G": "B", "T": "B"}
    return [[(s, letters.get(kind, kind), m) for s, kind, m in row] for row in plan]


CASES = [
    ("Eager1F1B", 4, 8, 1),
    ("Interleaved1F1B", 2, 4, 2),
    ("Interleaved1F1B", 4, 8, 2),
    ("Interleaved1F1B", 4, 10, 3),
    ("KimiK2", 4, 8, 2),
    ("Seq1F1B", 4, 8, 1),
    ("SlimPipe", 4, 8, 2),
    ("VocabParallel1F1B", 4, 8, 2),
    ("VocabParallel1F1B", 3, 7, 3),
    ("LoopedBFS", 4, 6, 2),
    ("InterleavedZeroBubble", 4, 8, 2),
    ("ZeroBubbleV", 4, 8, 2),
    ("ZeroBubbleV", 3, 4, 2),
    ("DualPipeV", 4, 8, 2),
    ("DualPipe", 4, 8, 2),
    ("VHalf", 4, 8, 2),
    ("VMin", 5, 12, 2),
    ("auto", 4, 8, 1),
    ("auto", 3, 6, 3),
]


@pytest.mark.parametrize(("name", "meshes", "microbatches", "stages"), CASES)
def test_each_mesh_has_its_list(tools, name, meshes, microbatches, stages, tmp_path):
    csv = tools.check(
        "meshwright",
        "schedule",
        name,
        "--csv",
        f"--meshes={meshes}",
        f"--microbatches={microbatches}",
        f"--stages-per-mesh={stages}",
    )
    plan = read_plan(csv)
    program = write_program(plan)
    for option in [name, f"builtin:{name.lower()}"]:
        done = tools.run(
            "mpmd-opt",
            "-",
            f"--mpmd-pipeline-scheduler=must-happen-before={option}",
            stdin=program,
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        assert read_orders(done.stdout.decode(), meshes) == as_program(plan)
    if name == "DualPipe":  # Its stages are there twice, which files cannot say.
        return
    path = tmp_path / "schedule.csv"
    path.write_text(csv)
    found = tools.opt(
        program, f"--mpmd-optimize-pipeline=pipeline-schedule=file:{path}"
    )
    assert read_orders(found, meshes) == as_program(plan)


GRAPHS = [
    ("vision:2;text:2;vision>text", {0: [], 1: [0], 2: [1], 3: [2]}),
    ("vision:2=GPipe;text:2;vision>text.*", {0: [], 1: [0], 2: [1], 3: [1, 2]}),
    ("a:1;b:2=ZeroBubbleH1;c:1;a>c;b>c", {0: [], 1: [], 2: [1], 3: [0, 2]}),
    ("a:2@0-1;b:2@0-1;a>b.1", {0: [], 1: [0], 2: [], 3: [1, 2]}),
    ("a:2;b:1;c:1;a.0>b;a>c;b>", {0: [], 1: [0], 2: [0], 3: [1]}),
]


@pytest.mark.parametrize("schedule", ["Towers", "auto"])
@pytest.mark.parametrize(("graph", "reads"), GRAPHS)
def test_each_mesh_of_a_graph_has_its_list(tools, schedule, graph, reads):
    name = f"{schedule}:{graph}"
    csv = tools.check("meshwright", "schedule", name, "--csv", "--microbatches=6")
    plan = read_plan(csv.split("\n", 1)[1])
    done = tools.run(
        "mpmd-opt",
        "-",
        f"--mpmd-pipeline-scheduler=must-happen-before={name}",
        stdin=write_program(plan, reads),
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert read_orders(done.stdout.decode(), len(plan)) == plan


def test_the_verb_lists_what_there_is(tools):
    listed = tools.check("meshwright", "schedule")
    names = [line.split()[0] for line in listed.splitlines()]
    assert names[:3] == ["none", "1F1B", "GPipe"]
    assert {name for name, *_ in CASES} <= set(names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1F2B"], "did you mean 1F1B?"),
        (["Interleaved1F1B", "--microbatches=9"], "take 8 or 10 microbatches"),
        (["ZeroBubbleV", "--stages-per-mesh=3"], "needs 2 stages on each mesh, got 3"),
        (["1F1B", "--meshes=0"], "at least one mesh"),
        (["1F1B", "--forward=0"], "takes a time of at least 1"),
        (["1F1B", "--weight=9223372036854775807"], "takes a time of at most"),
        (["1F1B", "--transfer=-1"], "takes a time of 0 or more"),
        (["1F1B", "--microbatches=4000000000"], "take fewer meshes or microbatches"),
        (["file:nowhere.csv"], "nowhere.csv: cannot be read"),
        (["auto", "--memory=0"], "must hold at least 1 live microbatches, got 0"),
        (["auto", "--memory=4,4"], "--memory has 2 numbers for 4 meshes"),
        (["1F1B", "--memory=4"], "--memory is for schedule auto"),
        (["1F1B", "--host=1"], "--host is for schedule auto, and what 1F1B keeps"),
        (["auto", "--host=-1"], "--host is a time of 0 to 4294967296, got -1"),
        (["auto", "--times=nowhere.json"], "cannot read nowhere.json"),
        (["auto", "--csv", "--json"], "choose one"),
        (["file:/dev/zero"], "/dev/zero: is a pipe or a device"),
        (["file:."], "is a directory"),
    ],
)
def test_the_verb_says_what_does_not_fit(tools, arguments, message):
    done = tools.run("meshwright", "schedule", *arguments)
    assert done.returncode == 1
    assert message in done.stderr


TIMES = {
    "transfer": 1,
    "stages": [
        {"forward": 3, "input": 3, "weight": 2},
        {"forward": 4, "backward": 8, "split": False},
        {"forward": 2, "input": 2, "weight": 2},
    ],
}


PLACED = {"forward": 1, "input": 1, "weight": 1, "mesh": 0}


def test_a_schedule_is_made_for_times_and_memory(tools, tmp_path):
    path = tmp_path / "stages.json"
    path.write_text(json.dumps(TIMES))
    shape = [f"--times={path}", "--microbatches=6"]

    def measure(name, *arguments):
        text = tools.check("meshwright", "schedule", name, "--json", *shape, *arguments)
        return json.loads(text)

    made = measure("auto", "--memory=2,2,1")
    for mesh, room in zip(made["meshes"], (2, 2, 1), strict=True):
        assert mesh["peak_live"] <= room
    assert made["lower_bound"] <= made["makespan"]
    # Stage 1 has six forwards and six backwards on its mesh, after a forward.
    assert made["makespan"] >= 3 + 1 + 6 * (4 + 8) + 1 + 3
    for mesh, stage in zip(made["meshes"], TIMES["stages"], strict=True):
        halves = "FB" if not stage.get("split", True) else "FIW"
        assert {action["kind"] for action in mesh["actions"]} == set(halves)
    with_more = measure("auto", "--memory=3")
    assert with_more["makespan"] <= made["makespan"]
    assert with_more["makespan"] <= measure("1F1B")["makespan"]
    # As a file, it is a schedule like any other.
    csv = tools.check("meshwright", "schedule", "auto", "--csv", *shape)
    (tmp_path / "made.csv").write_text(csv)
    again = measure(f"file:{tmp_path / 'made.csv'}")
    assert again["makespan"] == measure("auto")["makespan"]


def test_a_schedule_is_made_for_hosts_that_hold_activations(tools):
    shape = ["--meshes=8", "--microbatches=24"]

    def make(*arguments):
        return tools.check("meshwright", "schedule", "auto", *shape, *arguments)

    def measure(*arguments):
        return json.loads(make(*arguments, "--json"))

    usual, tight = measure("--memory=8"), measure("--memory=4")
    hosted = measure("--memory=4", "--host=1")
    assert hosted["makespan"] == usual["makespan"] < tight["makespan"]
    assert all(mesh["peak_on_device"] <= 4 for mesh in hosted["meshes"])
    assert all(mesh["peak_live"] > 4 for mesh in hosted["meshes"])
    assert all(mesh["sent_to_host"] > 0 for mesh in hosted["meshes"])
    assert "peak_on_device" not in tight["meshes"][0]
    # A link that is too slow changes nothing.
    assert measure("--memory=4", "--host=1000")["makespan"] == tight["makespan"]
    text = make("--memory=4", "--host=1")
    assert "of them on the devices, the others on hosts: 4 4 4 4 4 4 4 4\n" in text


@pytest.mark.parametrize(
    ("times", "arguments", "message"),
    [
        ("{", [], "Expected object key"),
        ('{"stages": []}', [], 'expected an object with a list of "stages"'),
        (TIMES, ["--meshes=4"], "has 3 stages, but 4 meshes with 1 each have 4"),
        (
            TIMES,
            ["--forward=2"],
            "--forward is given for each stage by --times; leave it out",
        ),
        (TIMES, ["--meshes=4294967295", "--stages-per-mesh=4294967295"], "each have 9"),
        ({"stages": [PLACED | {"mesh": 1}]}, [], "expected less than there are stages"),
        ({"stages": [PLACED]}, ["--microbatches=0"], "needs at least one microbatch"),
    ],
)
def test_times_that_do_not_fit_are_refused(tools, tmp_path, times, arguments, message):
    path = tmp_path / "stages.json"
    path.write_text(times if isinstance(times, str) else json.dumps(times))
    done = tools.run("meshwright", "schedule", "auto", f"--times={path}", *arguments)
    assert done.returncode == 1
    assert message in done.stderr


def test_a_file_without_end_is_not_read(tools, tmp_path):
    pipe, sparse = tmp_path / "pipe.csv", tmp_path / "sparse.csv"
    os.mkfifo(pipe)
    with open(sparse, "wb") as file:
        file.truncate(1 << 40)
    for path, message in [(pipe, "is a pipe or a device"), (sparse, "67108864")]:
        done = tools.run("meshwright", "schedule", f"file:{path}")
        assert done.returncode == 1
        assert message in done.stderr


def test_huge_pipelines_are_refused_at_once(tools):
    listed = tools.check("meshwright", "schedule")
    names = [line.split()[0] for line in listed.splitlines()]
    assert {"1F1B", "DualPipeV", "auto"} <= set(names)
    for name in names:
        for arguments in [
            ["--meshes=4000000000", "--microbatches=4000000000"],
            ["--meshes=100000", "--microbatches=1000"],
            ["--meshes=4", "--microbatches=8", "--stages-per-mesh=4000000000"],
        ]:
            done = tools.run("meshwright", "schedule", name, "--csv", *arguments)
            assert done.returncode == 1
            assert re.search("fewer meshes or microbatches|on each mesh", done.stderr)
