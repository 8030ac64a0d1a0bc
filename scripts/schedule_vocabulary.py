"""What docs/schedules.md says of vocabularies that are cut over all meshes.

Each takes what runs `meshwright schedule`, the `Tool` of schedule_docs.py.
"""

import json
import pathlib
import tempfile
from typing import Any

Tool = Any

PROGRAM = """\
def predict(w, x, labels):
    logs = jax.nn.log_softmax(x @ w.T)
    return -jnp.take_along_axis(logs, labels[:, None], 1).mean()


embed, head = mw.pipeline.vocabulary(lambda table, tokens: table[tokens], predict)


def of_tokens(weights, tokens, labels):
    x = embed(weights["table"], tokens)
    for stage, w in enumerate(weights["layers"]):
        x = layer(w, mw.stage_boundary(x) if stage else x)
    return head(weights["head"], x, labels)


step = mw.pipeline.accumulate(jax.value_and_grad(of_tokens), 8, batch_argnums=(1, 2))
config = mw.make_config(
    meshes, pipeline_schedule=mw.get_pipeline_schedule("VocabParallel1F1B")
)
table = np.ones((32, 2), np.float32)  # Each mesh has eight of 32 tokens.
layers = 4 * [np.ones((2, 2), np.float32)]
tokens = labels = np.zeros(32, np.int32)  # Eight microbatches of four.
lowered = mw.jit(step, config).lower(
    {"table": table, "layers": layers, "head": table}, tokens, labels
)
"""

SECTION = """\
## Large vocabularies

With a vocabulary of 256,000, the head of a model takes as long as several layers, and
the last stage is the slowest. `mw.pipeline.vocabulary(embed, head)` splits these two
functions of a model over all meshes along the vocabulary, which is the leading axis of
all their weights; weights, gradients and moments are split the same way. Under
[VocabParallel1F1B](#vocabparallel1f1b) the parts are scheduled separately, here
including those of the embedding, `E` forward and `G` backward:

```sh
meshwright schedule VocabParallel1F1B --meshes 4 --microbatches 4 --stages-per-mesh 3
```

```
{drawing}```

With P meshes, stage s of the chain, the part of the head P + s and that of the
embedding 2 P + s are on mesh s; they can have times of their own (`--times`). `T` needs
the `S` of all parts, the backward of the last stage the `T` of all. Between the two
only the maximum and the sum of each part are sent, one number of each per token: a part
uses its own maximum until it knows the others. The loss is that of the plain head, but
for the order of sums; eager execution and `jax.jit` run the functions as they are.

A loss may take maxima, sums, a softmax and its logarithm over the vocabulary, and read
entries at labels: smoothed labels, masked or capped logits and a penalty of the
logarithm of the sum among them. What cannot be cut is refused with its operation and
line, such as logits that are returned, or `argmax`: `pipeline.vocabulary: the head,
predict: argmax, which gives int32[4], reads all entries of the vocabulary, so it cannot
be computed in parts of the vocabulary; a loss may take maxima, sums, a softmax and
entries at labels over it`. Also refused are a vocabulary that the number of meshes does
not divide (the message says to which size to pad it), schedules other than this one or
a file, and a gradient that depends on the loss, such as that of its square. The loss
may be scaled, and terms of other stages added. `jax.checkpoint` goes around layers, or
around the functions that `pipeline.vocabulary` gets, not around those that it gives.
Weights may be tied.

A model of 32 layers of width 3072 on 8 meshes, 64 microbatches of sequences of 2048,
where a layer takes 12 × 3072 + 2 × 2048 and the head as long as its vocabulary; without
parts, layers are moved from the last stage to the others as far as that helps:

{gains}
"""

LAYERS, MESHES, MICROBATCHES = 32, 8, 64
LAYER = 12 * 3072 + 2 * 2048
SIZES = [2**power for power in range(15, 19)]


def _simulate(tool: Tool, name: str, times: list[int]) -> int:
    """The makespan, where each part of an action takes as long as the forward."""
    keys = "forward", "input", "weight"
    stages = [dict.fromkeys(keys, time) for time in times]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "times.json"
        path.write_text(json.dumps({"stages": stages}))
        shape = f"--meshes={MESHES}", f"--microbatches={MICROBATCHES}"
        done = tool.run(name, *shape, f"--times={path}", "--json")
    return json.loads(done.stdout)["makespan"]


def _spread(last: int) -> list[int]:
    """Layers by stage, with that many in the last."""
    rest, more = divmod(LAYERS - last, MESHES - 1)
    return [rest + (stage < more) for stage in range(MESHES - 1)] + [last]


def _makespans(tool: Tool, size: int) -> tuple[int, int, int]:
    """With the head in the last stage, after layers were moved, and in parts."""

    def whole(last: int) -> int:
        times = [max(1, layers * LAYER) for layers in _spread(last)]
        return _simulate(tool, "1F1B", [*times[:-1], times[-1] + size])

    even = LAYERS // MESHES
    parts = MESHES * [even * LAYER] + MESHES * [size // MESHES]
    return (
        whole(even),
        min(map(whole, range(even + 1))),
        _simulate(tool, "VocabParallel1F1B", parts),
    )


def write_gains(tool: Tool) -> str:
    """How much shorter steps are, over the best without parts."""
    gains = [moved / parts - 1 for _, moved, parts in _all(tool)]
    return f"{100 * min(gains):.0f} to {100 * max(gains):.0f} %"


def _all(tool: Tool) -> list[tuple[int, int, int]]:
    return [_makespans(tool, size) for size in SIZES]


def write_vocabulary(tool: Tool) -> str:
    """The section, with what the command draws."""
    shape = "--meshes=4", "--microbatches=4", "--stages-per-mesh=3"
    lines = [
        "| vocabulary | 1F1B | 1F1B, layers moved | VocabParallel1F1B | gain |",
        "| --- | --- | --- | --- | --- |",
    ]
    for size, (plain, moved, parts) in zip(SIZES, _all(tool), strict=True):
        times = (f"{time / parts:.2f}" for time in (plain, moved, parts))
        gain = f"{100 * (moved / parts - 1):.0f} %"
        lines.append(f"| {size:,} | {' | '.join(times)} | {gain} |")
    drawing = tool.run("VocabParallel1F1B", *shape).stdout
    return SECTION.format(drawing=drawing, gains="\n".join(lines))
