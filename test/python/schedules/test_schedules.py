"""The order that each builtin schedule gives on each mesh of a pipeline.

The expected orders are the published ones: what a schedule demands, completed
by data flow and by the stable sort of the block.
"""

import re

import pytest

T = "tensor<4xf32>"


def mesh_type(mesh: int) -> str:
    return f'!mpmd.mesh_tensor<"m{mesh}", {T}>'


class Pipeline:
    """Microbatch by microbatch: forward down the meshes, backward up again."""

    def __init__(self, meshes: int, microbatches: int, *, split: bool):
        self.meshes, self.lines, self.count = meshes, [], 0
        for microbatch in range(microbatches):
            value = "%x"
            forwards = []
            for mesh in range(meshes):
                value = self.move(value, mesh - 1, mesh) if mesh else value
                value = self.fragment(mesh, microbatch, "", [value])
                forwards.append(value)
            for mesh in reversed(range(meshes)):
                gradient = value
                if mesh + 1 < meshes:
                    gradient = self.move(value, mesh + 1, mesh)
                operands = [gradient, forwards[mesh]]
                is_split = split and mesh + 1 < meshes
                mark = ", split_keep_transferred" if is_split else ""
                value = self.fragment(mesh, microbatch, "(1)", operands, mark)
                if is_split:
                    mark = ", split_drop_transferred"
                    self.fragment(mesh, microbatch, "(1)", operands, mark)

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def move(self, value: str, source: int, target: int) -> str:
        result = self.fresh()
        self.lines.append(
            f"{result} = mpmd.transfer {value} : ({mesh_type(source)}) "
            f"-> {mesh_type(target)}"
        )
        return result

    def fragment(self, mesh, microbatch, transposed, operands, mark="", stage=None):
        result = self.fresh()
        arguments = ", ".join(f"%a{i}: {T}" for i in range(len(operands)))
        types = ", ".join([mesh_type(mesh)] * len(operands))
        at = "" if stage is None else f", stage={stage}"
        self.lines.append(
            f'{result} = mpmd.fragment<mesh="m{mesh}", origin=["f"{transposed}]{at}> '
            f"({', '.join(operands)}) {{call_counter = {microbatch} : ui32{mark}}} "
            f"({arguments}) {{\n    mpmd.return %a0 : {T}\n"
            f"  }} : ({types}) -> {mesh_type(mesh)}"
        )
        return result

    def text(self) -> str:
        topology = ", ".join(f'<"m{m}" : <["x"=2]>>' for m in range(self.meshes))
        return (
            f"func.func @main(%x: {mesh_type(0)}) -> {mesh_type(0)} "
            f"attributes {{topology = #mpmd.topology<{topology}>}} {{\n  "
            + "\n  ".join(self.lines)
            + f"\n  return %x : {mesh_type(0)}\n}}\n"
        )


FRAGMENT = re.compile(
    r'mpmd\.fragment<mesh="m(\d+)", origin=\["f"(\(1\))?\](?:, stage=(\d+))?>'
    r".*?call_counter = (\d+) : ui32([^}]*)"
)


def orders(text: str, with_stages: bool = False) -> dict[int, str]:
    found: dict[int, list[str]] = {}
    for mesh, transposed, stage, counter, marks in FRAGMENT.findall(text):
        kind = "B" if transposed else "F"
        if "split_drop_transferred" in marks:
            kind = "W"
        suffix = f".{stage}" if with_stages else ""
        found.setdefault(int(mesh), []).append(f"{kind}{counter}{suffix}")
    return {mesh: " ".join(items) for mesh, items in found.items()}


def schedule(tools, pipeline: Pipeline, name: str) -> str:
    return tools.opt(
        pipeline.text(), f"--mpmd-pipeline-scheduler=must-happen-before={name}"
    )


GPIPE = "F0 F1 F2 F3 F4 B0 B1 B2 B3 B4"
ONE_EACH = "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4"
EXPECTED = {
    "none": {0: ONE_EACH, 1: ONE_EACH, 2: ONE_EACH},
    "GPipe": {0: GPIPE, 1: GPIPE, 2: GPIPE},
    "1F1B": {
        0: "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4",
        1: "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4",
        2: ONE_EACH,
    },
    "GPipeBut1F1BForLastMesh": {0: GPIPE, 1: GPIPE, 2: ONE_EACH},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_plain_pipeline(tools, name):
    text = schedule(tools, Pipeline(3, 5, split=False), name)
    assert orders(text) == EXPECTED[name]


@pytest.mark.parametrize("name", ["builtin:1F1B", "1f1b"])
def test_names_take_a_prefix_and_any_case(tools, name):
    text = schedule(tools, Pipeline(3, 5, split=False), name)
    assert orders(text) == EXPECTED["1F1B"]


def test_zero_bubble_h1(tools):
    text = schedule(tools, Pipeline(3, 5, split=True), "ZeroBubbleH1")
    found = orders(text)
    assert found[0] == "F0 F1 F2 B0 W0 F3 B1 W1 F4 B2 W2 B3 W3 B4 W4"
    assert found[1] == "F0 F1 B0 F2 B1 W0 F3 B2 W1 F4 W4 B3 W2 B4 W3"


def test_zero_bubble_h2_without_latency(tools):
    text = schedule(tools, Pipeline(3, 8, split=True), "ZeroBubbleH2ZeroTxLatency")
    found = orders(text)
    start = "F0 F1 F2 F3 F4 B0 W0 F5 B1 W1 F6 B2 W2 F7 B3 W3 B4 W4"
    assert found[0].startswith(start)
    assert found[1] == (
        "F0 F1 F2 B0 F3 B1 F4 B2 F5 W0 B3 F6 W6 W1 B4 F7 W7 W2 B5 W3 B6 W4 B7 W5"
    )


def test_schedule_keeps_all_but_the_order(tools):
    pipeline = Pipeline(3, 4, split=True)
    before = tools.opt(pipeline.text()).splitlines()
    after = schedule(tools, pipeline, "1F1B").splitlines()

    def shape(lines):
        return sorted(re.sub(r"%\w+(#\d+)?", "%", line) for line in lines)

    assert shape(before) == shape(after)


def test_unknown_schedule_is_an_option_error(tools):
    done = tools.run(
        "mpmd-opt", "-", "--mpmd-pipeline-scheduler=must-happen-before=1F2B", stdin=""
    )
    assert done.returncode != 0
    assert "unknown pipeline schedule '1F2B', known are none, 1F1B" in done.stderr
