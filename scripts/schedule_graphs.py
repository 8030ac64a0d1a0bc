"""The section of docs/schedules.md on graphs of towers.

It takes what runs `meshwright schedule`, the `Tool` of schedule_docs.py.
"""

import json
from typing import Any

GRAPHS = """\
## Graphs of towers

Stages need not be one chain. In a model of images and text, two towers feed a third
part; an encoder feeds every stage of a decoder; parts of a model have losses of their
own. A mark with a tower begins a stage of that tower, including its first one. Values
that the stage reads from other towers pass through its mark as well:

```python
def seeing(weights, image, text, y):
    for w in weights["vision"]:
        image = layer(w, mw.stage_boundary(image, tower="vision"))
    for w in weights["text"]:
        text, image = mw.stage_boundary((text, image), tower="text")
        text = layer(w, text) + image
    return distance(text, y)


towers = {{
    "vision": mw.pipeline.Tower(["m0", "m1"], schedule="GPipe"),
    "text": ["m2", "m3"],  # In the order of 1F1B.
}}
step = mw.pipeline.accumulate(jax.value_and_grad(seeing), 8, batch_argnums=(1, 2, 3))
config = mw.make_config(
    meshes, towers=towers, pipeline_schedule=mw.get_pipeline_schedule("Towers")
)
w = np.ones((2, 2), np.float32)
weights = {{"vision": [w, w], "text": [w, w]}}
lowered = mw.jit(step, config).lower(weights, xs, xs, ys)
```

The edges between towers are derived from the program; without `towers` each stage has a
mesh of its own, tower after tower. An operation belongs to the last stage that it
depends on. If it depends on several independent stages, it belongs to the one whose
tower continues after it, or else to the tower that is marked last, as for two towers
that meet in a loss. Values of another stage may also be read without a mark; their
derivative is then placed by the values that it saves, and by its reader if it saves
none, as for the gradient of a bias. A tower may be applied several times in a call,
with the same number of marks each time; take the gradient inside the call.

On the command line, a schedule is named with its towers: their numbers of stages, what
feeds what (`vision>text`, from the last stage to the first; `vision.0>text.2`; to all
stages `vision>text.*`; `aux>` ends in a loss of its own), and where they need it,
meshes and a schedule, `vision:2@0+1=GPipe`. Towers that feed come first.

```sh
meshwright schedule 'Towers:vision:2=GPipe;text:2;vision>text.*' --microbatches 4
meshwright schedule 'auto:vision:2;text:2;vision>text.*' --microbatches 4
```

```
{towers}```

`Towers` runs each tower in the order of its own schedule. Since a tower's schedule does
not know the stages after it, forwards run ahead until each stage that feeds another
keeps one microbatch more than that stage: with 1F1B everywhere, the number of stages
from it to the end. On a mesh of several towers, the action that is ready first runs
first, and the order of each tower is kept. A tower cannot use schedules with overlapped
pairs, with two copies of the model, or with microbatches in reverse order.

`auto` searches one order of all stages by their times, within the memory of
1F1B (on each mesh the number of stages from the first one of its
tower to the end) or `--memory`. It is never longer than towers that all follow
one schedule, nor, for up to three towers, than any mixture of GPipe, 1F1B and
ZeroBubbleH1 that fits. For 100 random graphs of two or three towers
(`bench/tower_schedules.py`), its order is shorter than the best such mixture in 51,
equal in 49, proven to be the shortest in 92, and on average 0.1 % above the lower
bound.

Tessel (arXiv:2311.15269) orders such graphs by a part that repeats without idle time.
`auto` finds orders to which each further microbatch adds no more than its work on the
busiest mesh, measured from 16 to 32 microbatches with equal stages:

{repetition}

CSV files have a first line `towers vision:2;text:2;vision>text`, and JSON `"towers"`.
Errors are towers without a path to a loss, unknown towers, cycles, and rows in which
towers that share a mesh contradict each other:

```
{bad_towers}```

"""


def write_graphs(tool: Any, bad: str) -> str:
    """The section, with what the command draws and refuses; `bad` is a folder."""
    towers = "\n".join(
        tool.run(f"{name}:{graph}", "--microbatches=4").stdout
        for name, graph in (
            ("Towers", "vision:2=GPipe;text:2;vision>text.*"),
            ("auto", "vision:2;text:2;vision>text.*"),
        )
    )
    bad_towers = "".join(
        tool.run(f"Towers:{graph}").stderr
        for graph in (
            "vision:2;text:2",
            "vision:2;text:2;vison>text",
            "vision:2;text:2;vision>text;text>vision",
        )
    ) + tool.run(f"file:{bad}/towers.csv").stderr.replace(f"{bad}/", "")
    return GRAPHS.format(
        towers=towers, bad_towers=bad_towers, repetition=write_repetition(tool)
    )


def write_repetition(tool: Any) -> str:
    """What a microbatch adds to the step, beside its work on the busiest mesh."""
    lines = [
        "| graph | schedule | bubble of 32 | added, of the busiest mesh's work |",
        "| --- | --- | --- | --- |",
    ]
    for graph in (
        "vision:2@0-1;text:2@2-3;both:4@0-3;vision>both;text>both",
        "encoder:4@0-3;decoder:4@0-3;encoder>decoder.*",
    ):
        for name in ("Towers", "auto"):
            few, many = (read_plan(tool, f"{name}:{graph}", n) for n in (16, 32))
            busiest = max(mesh["busy"] for mesh in many["meshes"]) / 32
            added = (many["makespan"] - few["makespan"]) / 16 / busiest
            bubble = 100 * many["bubble"]
            lines.append(f"| `{graph}` | {name} | {bubble:.1f} % | {added:.2f} |")
    return "\n".join(lines)


def read_plan(tool: Any, name: str, microbatches: int) -> Any:
    return json.loads(tool.run(name, f"--microbatches={microbatches}", "--json").stdout)
