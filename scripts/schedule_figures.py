"""Tables of docs/schedules.md with figures of several schedules.

Each takes what runs `meshwright schedule`, the `Tool` of schedule_docs.py.
"""

import json
from typing import Any

import schedule_vocabulary

Tool = Any


def write_sequence_table(tool: Tool) -> str:
    """What chunks of sequences change, on eight meshes."""
    lines = [
        "| schedule | bubble | first mesh keeps, in microbatches of the whole mesh |",
        "| --- | --- | --- |",
    ]
    for name, stages in [
        ("1F1B", 1),
        ("Seq1F1B:2", 1),
        ("Seq1F1B:4", 1),
        ("Seq1F1B:8", 1),
        ("Interleaved1F1B", 2),
        ("SlimPipe:8", 2),
        ("SlimPipe:16", 2),
    ]:
        made = json.loads(
            tool.run(name, "--meshes=8", "--microbatches=8", "--json").stdout
        )
        chunks = made.get("sequence_chunks", 1)
        kept = made["meshes"][0]["peak_live"] / (chunks * stages)
        lines.append(f"| {name} | {100 * made['bubble']:.1f} % | {kept:.2f} |")
    return "\n".join(lines)


def write_ahead_table(tool: Tool) -> str:
    """How much earlier a mesh can begin the next step that waits for no norm."""
    lines = [
        "| schedule | step, waiting | not waiting | gain |",
        "| --- | --- | --- | --- |",
    ]
    for name in ("ZeroBubbleH1", "ZeroBubbleH2ZeroTxLatency", "ZeroBubbleV"):
        made = json.loads(
            tool.run(name, "--meshes=8", "--microbatches=24", "--json").stdout
        )
        spans = [
            mesh["actions"][-1]["stop"] - mesh["actions"][0]["start"]
            for mesh in made["meshes"]
        ]
        whole, longest = made["makespan"], max(spans)
        gain = 100 * (whole - longest) / whole
        lines.append(f"| {name} | {whole} | {longest} | {gain:.1f} % |")
    return "\n".join(lines)


def write_anchors(tool: Tool) -> str:
    """Figures of papers beside those of this tool."""

    def draw(name: str, microbatches: int, *options: str) -> dict:
        shape = "--meshes=8", f"--microbatches={microbatches}"
        return json.loads(tool.run(name, *shape, *options, "--json").stdout)

    plain = draw("1F1B", 24)

    def bubble(name: str) -> str:
        return f"{100 * draw(name, 24)['bubble']:.1f} %"

    def against(name: str) -> str:
        # Of the time that meshes idle, not of the step.
        idle = [
            made["makespan"] * made["bubble"] / (2 if made is not plain else 1)
            for made in (draw(name, 24), plain)
        ]
        return f"{idle[0] / idle[1]:.2f} B"

    cut, whole = draw("Seq1F1B:4", 32), draw("1F1B", 32)
    faster = 4 * whole["makespan"] / cut["makespan"]
    slim = draw("SlimPipe:16", 8)["meshes"][0]["peak_live"] / 32
    ahead = draw("ZeroBubbleH2ZeroTxLatency", 24)
    longest = max(
        mesh["actions"][-1]["stop"] - mesh["actions"][0]["start"]
        for mesh in ahead["meshes"]
    )
    hosted, whole_memory = (
        draw("auto", 24, *options)["makespan"]
        for options in (("--memory=4", "--host=1"), ("--memory=8",))
    )
    # A forward that is computed again is a part of the gradient of the input.
    few, many = (
        draw("DualPipeV", count, "--input=2")["makespan"] for count in (16, 32)
    )
    rows = [
        (
            "1F1B, 24 microbatches",
            "(N − 1) / (M + N − 1)",
            bubble("1F1B"),
        ),
        ("ZeroBubbleH1", "a third of B", bubble("ZeroBubbleH1")),
        ("ZeroBubbleV", "none between first and last action", bubble("ZeroBubbleV")),
        ("VHalf", "B / 2", against("VHalf")),
        ("VMin", "2 B / 3", against("VMin")),
        (
            "post-validation, ZeroBubbleH2",
            "about 8 % of the step",
            f"{100 * (1 - longest / ahead['makespan']):.1f} %",
        ),
        (
            "PipeOffload; auto with memory for 4, a trip to the host as long as a "
            "forward",
            "half to all activations for nothing",
            f"{hosted / whole_memory:.2f} × the step with memory for 8",
        ),
        ("Seq1F1B:4, 32 microbatches", "1.14 × 1F1B", f"{faster:.2f} ×"),
        (
            "SlimPipe:16, 8 microbatches, two stages on a mesh",
            "1 + 2 (N − 1) / (v K) of an even share",
            f"{slim:.2f}",
        ),
        (
            "VocabParallel1F1B, vocabularies of 32,768 to 262,144",
            "5 to 51 % faster than without",
            schedule_vocabulary.write_gains(tool),
        ),
        (
            "DualPipeV, forwards computed again, a microbatch of 32 by one of 16",
            "11.0 % quicker (64 H100)",
            f"{100 * (2 * few / many - 1):.1f} %, nothing overlapping",
        ),
        # Made by models, not by numbers of stages: what the bench printed.
        (
            "cuts, places and order together (AdaPtis), five models",
            "1.42 × Interleaved1F1B",
            "1.41 × ([plan.md](plan.md#unequal-layers))",
        ),
    ]
    lines = ["| schedule | published | here |", "| --- | --- | --- |"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])
