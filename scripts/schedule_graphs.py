"""The section of docs/schedules.md on graphs of towers.

It takes what runs `meshwright schedule`, the `Tool` of schedule_docs.py.
"""

import json
from typing import Any

GRAPHS = """\
## Graphs of towers

Stages need not be one chain. In a model that sees and reads, two towers feed a third
part; an encoder feeds every stage of a decoder; parts of a model have losses of their
own. A mark with a tower begins a stage of that tower, also its first one. What the
stage reads of other towers goes through its mark as well:

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

What feeds what is read off the program; without `towers` each stage has a mesh of its
own, tower after tower. An operation belongs to the last stage that it depends on. Of
several that do not depend on each other it is the one whose tower goes on after it, or
else the one of the tower that is marked last: that is where two towers meet in a loss.
What another stage has made may also be read without a mark. Where it is differentiated
is then read off the values that were saved; what saves none, such as the gradient of a
bias, is computed by the reader. A tower may be applied several times in a call, with as
many marks each time; the gradient is taken inside of the call.

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

`Towers` runs each tower in the order of its own schedule. That knows nothing of the
stages after it, so forwards go ahead, until each stage that feeds another keeps one
microbatch more than that: with 1F1B everywhere, as many as there are stages from it to
the end. On a mesh of several towers, what is ready first runs first, and the order of
each tower stays. Schedules with overlapped pairs, with the model twice, or that run
microbatches backwards are no schedules of a tower.

`auto` searches an order of all stages at once, with their times, in the memory that
1F1B has: each mesh as many microbatches as there are stages from the first one of its
tower to the end, `--memory` otherwise. It is never later than towers that all follow
one schedule, or for up to three towers any mixture of GPipe, 1F1B and ZeroBubbleH1,
where these fit. Of the 100 random graphs of two or three towers that
`bench/tower_schedules.py` draws, its order is shorter than the best such mixture in 51,
as long in 49, proven to be the shortest in 92, and 0.1 % above the lower bound on
average.

Tessel (arXiv:2311.15269) orders such graphs by a part that repeats without idle time.
`auto` finds orders to which each further microbatch adds no more than its work on the
busiest mesh; from 16 to 32 microbatches, with stages that are alike:

{repetition}

CSV files have a first line `towers vision:2;text:2;vision>text`, and JSON `"towers"`.
Refused are towers without a way to a loss, unknown ones, circles, and rows in which
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
