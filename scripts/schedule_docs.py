#!/usr/bin/env python3
"""Writes docs/schedules.md: each schedule drawn, with its figures.

    .venv/bin/python scripts/schedule_docs.py [--bin build/bin] [--check]
    .venv/bin/python scripts/schedule_docs.py --svg FOLDER   an image of each

All drawings and numbers come from `meshwright schedule`; only the sentences in
between are here and, those of each schedule, in schedule_sections.py. With --check
nothing is written, and the exit code is 1 if the page is not what would be written.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import textwrap
from typing import Any

import schedule_figures
import schedule_graphs
import schedule_vocabulary
from meshwright.compiler import native
from meshwright.compiler.schedules import Schedule
from schedule_sections import SECTIONS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "schedules.md"
PROGRAM = ROOT / "docs" / "examples" / "schedules.py"
MESHES, MICROBATCHES = 4, 8

RING = """\
import functools


def go(m, weights, x):
    for stage in [(m + i) % 4 for i in range(4)]:
        x = mw.named_computation(layer, name=f"stage{stage}")(weights[stage], x)
    return x


def forward(weights, xs):
    return [
        mw.call(functools.partial(go, m), call_counter=m)(weights, x)
        for m, x in enumerate(xs)
    ]


ring = configure("ParallelPipelinesWithWrapAround", stages=4)
lowered = mw.jit(forward, ring).lower([np.ones((2, 2), np.float32)] * 4, xs[:4])
"""

INTRODUCTION = """\
# Schedules

The order in which each mesh of a pipeline does its work, how long it is idle, and how
many activations it keeps.

<!-- Written by scripts/schedule_docs.py; change that, not this page. -->

`meshwright schedule` lists all schedules, and `meshwright schedule NAME --meshes 4
--microbatches 8` draws one for any pipeline, as below; `--svg` draws an image.

## How to run one

For a model with marks, a schedule is an argument of the config, and everything else
follows ([python.md](python.md#in-short)):

    mw.make_config(topology, pipeline_schedule=mw.get_pipeline_schedule("ZeroBubbleV"))

`get_pipeline_schedule` takes the names of this page or those of the registry
(`ZeroBubbleV`, `ZERO_BUBBLE_V`), or `file:PATH`, and sets the options that the schedule
needs, such as split backward fragments.

A schedule orders the work of each microbatch in each stage. Without marks, a program
names the computations of its stages, calls each microbatch with its number, and takes
the gradient inside that call; `stage_assignment` gives the mesh on which a schedule
wants each stage. The examples on this page use the following program, which fits all
schedules:

```python
{program}```

The drawings below follow this. The option
`mpmd_pipeline_schedule` of `partitioning_options` chooses one as well, by the same
names, and needs no `pipeline_schedule` then.

On the command line the same program (`lowered.as_text("stablehlo")`) comes with a
[configuration](config.md), in which the assignment gives each computation its mesh
and its stage:

```json
{config}```

```sh
meshwright partition step.mlir --config step.json --schedule ZeroBubbleV -o out
```

Option `mpmd_complete_schedule` does what `mw.jit` does by itself: what a schedule
needs is on, unless another option turns it off, and where a zero-bubble relation
does not order a pair, its drawing decides. The pass alone takes
`-mpmd-pipeline-scheduler=must-happen-before=NAME`. Outside Python names are
case-insensitive, and may begin with `builtin:`.

## How to read the drawings

Each line is a mesh, and time goes to the right. `F3` is the forward pass of microbatch
3, `B3` its backward pass, which takes twice as long (`===`). If the backward pass is
split, `I3` is the gradient of the input, for which the previous stage waits, and `W3`
that of the weights, for which no mesh waits. `.` is a unit of idle time. With several
stages on a mesh, the number of the stage comes first: `5F3`. `5F3+2B1` is a pair of a
forward and a backward that overlap.

Drawings have {meshes} meshes and {microbatches} microbatches unless stated otherwise,
with a time of 1 for forward, `I` and `W`, and 0 for transfers; the
options `--forward`, `--input`, `--weight` and `--transfer` set other times.

- *Bubble* is the idle part of the time from the first start to the last end. Papers on
  zero-bubble schedules give the bubble *between the first and the last action of a
  mesh*, which is smaller if meshes that start later also end later.
- *Peak live microbatches*, for each mesh, are the forwards in all of its stages whose
  backward has not ended. A split backward frees part of its activations
  after `I`; the second line counts until then.

## Overview

With two stages on each mesh a stage is half as long: compare bubbles, not
makespans, and halve the live microbatches.

"""

OF_YOUR_OWN = """\
## A searched schedule

Builtin schedules are designed for equal stages. `auto` searches the shortest
order for the given stages: of unequal length, with transfers, within the memory of each
mesh.

```sh
cat >stages.json <<'END'
{{"transfer": 1,
 "stages": [{{"forward": 3, "input": 3, "weight": 2}},
            {{"forward": 4, "backward": 8, "split": false}},
            {{"forward": 2, "input": 2, "weight": 2}}]}}
END
meshwright schedule auto --times stages.json --microbatches 6 --memory 3,3,2
meshwright schedule auto --times stages.json --microbatches 6 --csv >mine.csv
```

Times are positive integers in any unit: of a forward, of the two halves of a backward,
and of the whole backward (by default the sum of its halves). The backward of a stage
with `"split": false` is never split, any other is split if that helps. `"mesh"` in
every stage places them; otherwise there is one stage on each mesh, or
`--stages-per-mesh` of them, in turns or, for two, in a V, whichever is shorter.
`--memory` limits what a mesh keeps: microbatches, counted in each of its stages, from
the start of their forward to the end of their backward; by default the number of
stages. `--json` prints all times.

With `--host T` activations may be kept in the host memory of their mesh, where they do
not count for `--memory`. T is the time to copy those of one microbatch and stage, in
either direction. An order may then keep more than devices hold, as far as the link can
carry it; forwards wait for it if that delays no backward. This takes 27 instead of 31:

```sh
meshwright schedule auto --meshes 4 --microbatches 8 --memory 3 --host 1
```

For programs the option is `mpmd_offload_activations`
([recipe](recipes.md#activations-in-host-memory)), with this schedule and others. It
reduces the share of activations in the peak of a mesh: for a GPT of 32 layers in 8
stages with 32 microbatches under 1F1B (`bench/offloaded_activations.py`) the peak of
the first stage falls to 0.45 by `compiled.memory_analysis()`, with the same simulated
step, and to 0.61 to 0.69 if weights and their moments take most of the memory. With
4096 features and microbatches of 8 × 1024 tokens (`--recompute`) it is 0.58 by the
simulator, which counts temporaries, and 0.64 without them: the first forwards fill the
link to the host.

The last lines of the output say how good the order is: a lower bound for all orders,
and whether the search has proven that no order is shorter. It always has for up to
three meshes and four microbatches; with unequal stages on eight meshes the order is
rarely more than a few per cent above the bound. For equal stages,
`bench/auto_schedules.py` compares it with each builtin schedule in the memory of that
schedule, on 2, 4 and 8 meshes with 4 to 32 microbatches: in 48 of 177 pipelines its
order is shorter than the best builtin one that fits, by up to 29.5 %, in 129 equal, and
in none longer. DualPipe is not included, since it has two copies of the model.

`meshwright plan --schedules auto` also chooses the layers of each stage and the stages
of each mesh, [together with the order](plan.md#unequal-layers).

For a program, `mpmd_pipeline_schedule=auto` uses the program's stages and
the memory of 1F1B, or that of `mpmd_schedule_memory=3,3,2`. A forward that is followed
by a backward of another microbatch becomes a [pair](#overlapped-pairs) if that
shortens the step. By default times are floating point work of fragments, and transfers
take none:

- `mpmd_schedule_device=h100`: seconds of the [cost model](cost-model.md) on that
  device, with what collectives inside of fragments take, and the longest transfer;
- `mpmd_schedule_profile=run.json`: what [`mw.profile`](runtime.md#recordings) recorded
  of this program, or of one with another number of microbatches. Fragments that it
  misses are listed, and estimated for the device; without a device they are an error;
- `mpmd_custom_costs='flash_attention=flops:4*b*h*t*t*d'`: what custom calls do. Those
  of unknown work are listed.

For any other times, use an order from `meshwright schedule auto --times … --csv` as
`file:PATH`.

## Chunks of a sequence

With long sequences, the activations of a microbatch are large, and microbatches are
few. Seq1F1B and SlimPipe split the sequence of a microbatch into K chunks: forward from
first to last, where each chunk reads the cache of the chunks before it, and backward
from last to first, with the gradient of the cache. A stage then keeps the cache and
chunks instead of microbatches, and the pipeline fills and drains in steps of a chunk.
`NAME:K` draws one; `F1.2` is chunk 2 of microbatch 1:

```sh
meshwright schedule Seq1F1B:2 --meshes 4 --microbatches 4
meshwright schedule SlimPipe:4 --meshes 4 --microbatches 2
```

```
{seq}
{slim}```

Under Seq1F1B mesh m of N keeps N − m + K − 1 chunks. Under SlimPipe, with v stages on
each mesh and at least as many chunks as meshes, it keeps v K + 2 (N − 1 − m) of the
v K N pieces of a microbatch, little more than an even share. For 8 microbatches on 8
meshes, forward and backward as above:

{sequence_table}

In CSV and JSON, the number of a microbatch is that of the unit: microbatch times K plus
chunk. With `sequence_chunks`, `mw.pipeline.accumulate` calls the function for each
chunk. The function is then not a gradient, but a loss: it takes the carry as a last
argument, `None` for the first chunk, and returns the loss and the next carry.

```python
def attention(w, h, cache):
    q, k, v = h @ w[0], h @ w[1], h @ w[2]
    if cache is not None:
        k, v = jnp.concatenate([cache[0], k], 1), jnp.concatenate([cache[1], v], 1)
    new, every = q.shape[1], k.shape[1]
    sees = jnp.arange(every) <= jnp.arange(every - new, every)[:, None]
    scores = jnp.where(sees, q @ k.swapaxes(1, 2), -jnp.inf)
    return h + jax.nn.softmax(scores) @ v, (k, v)


def chunk_loss(weights, x, y, cache):
    caches = []
    for stage, w in enumerate(weights):
        x = mw.stage_boundary(x) if stage else x
        x, new = attention(w, x, cache and cache[stage])
        caches.append(new)
    return ((x - y) ** 2).mean(), caches


step = mw.pipeline.accumulate(
    chunk_loss, 8, batch_argnums=(1, 2), sequence_chunks=4, sequence_axes=1
)
config = mw.make_config(meshes, pipeline_schedule=mw.get_pipeline_schedule("Seq1F1B"))
batch = np.ones((16, 32, 2), np.float32)  # Eight microbatches of two rows.
lowered = mw.jit(step, config).lower(4 * [np.ones((3, 2, 2), np.float32)], batch, batch)
```

The result is the loss and the gradient by the first argument, equal to those of whole
sequences; means are over positions and microbatches. The schedule learns the number of
chunks from the program. A cache may grow, as here, with a fragment for each chunk, or
be as long as the sequence, with a position in it: then all chunks but the first and the
last share theirs. A program with calls of its own numbers them microbatch times K plus
chunk, and names the schedule with K, `Seq1F1B:4`.

With causal attention later chunks take longer. `sequence_chunks` also takes a list of
lengths, and `mw.pipeline.chunk_lengths` chooses lengths of equal time: for a sequence
of 1024 where a position takes as long as attending to 128 others, `chunk_lengths(1024,
4, linear=128, quadratic=1, multiple=16)` is 464, 224, 176 and 160.

Sequences that the number of chunks does not divide, and lengths that do not add
up to the sequence, are errors. So is a model that looks ahead, with the value that it
reads: `the model looks ahead in the sequence: the forward of chunk 0 of microbatch 0 in
stage 0 reads this value of type 'tensor<2x4xf32>' of chunk 1`.

## Layouts

`mw.pipeline.layout` describes the contents of each stage as a string, in the notation
of Megatron: E is the embedding, t a layer, m an extra prediction head, and L the head
with the loss. A bar ends a stage, parentheses group, `*n` repeats the piece, bar or
group before it; commas and spaces are ignored. `Layout.run` runs the pieces of a model,
each a function of the output of the previous piece, with marks between stages:

```python
import functools

layout = mw.pipeline.layout("Ett|(t|)*4tt|t|L", t=9)  # Nine layers, or an error.


def of_layout(weights, x, y):
    return layout.run(
        x,
        E=functools.partial(layer, weights["E"]),
        t=[functools.partial(layer, w) for w in weights["t"]],
        L=lambda x: distance(x @ weights["L"], y),
    )


w = np.ones((2, 2), np.float32)
step = mw.pipeline.accumulate(jax.value_and_grad(of_layout), 8, batch_argnums=(1, 2))
config = mw.make_config(
    meshes, pipeline_schedule=mw.get_pipeline_schedule("Interleaved1F1B")
)
lowered = mw.jit(step, config).lower({{"E": w, "t": 9 * [w], "L": w}}, xs, ys)
```

A stage may have only a head, and two bars in a row make an empty stage: it has a
position in the schedule and takes no time, also under `auto` and in files. Activations
are sent past it to the next stage that is not empty. Instead of `--times`, `--layout`
draws a schedule for stages with these numbers of pieces; here stage 5 is empty:

```sh
meshwright schedule Interleaved1F1B --meshes 4 --microbatches 4 \\
    --layout 'Et|t|t|t|t||tt|L'
```

```
{layout}```

For models whose pieces are modules, `layout.paths` takes their paths, and gives those
at which stages begin, for `mw.marked`. Errors give the position of the first invalid
character of a layout, or, if a model has other pieces, both numbers of pieces:

```
{bad_layouts}```

The bars must leave as many stages on each mesh as the schedule requires.

{graphs}{vocabulary}
## Microbatches of a few shapes

Sequences in buckets of a few lengths need not be padded to the longest: instead of an
array, `mw.pipeline.accumulate` takes a list with an entry for each microbatch, and
these may have different shapes. There is one set of programs for each distinct shape,
and all gradients are summed in the same buffers. A mean is over microbatches, whatever
their lengths; for a mean over positions, sum and divide by their number. Results of
different shapes cannot be stacked, and sequences in chunks must have one length.

Under a fixed schedule, microbatches run in the order of the list. `auto` chooses an
order by their times: here the short ones fill the pipeline, so that the last mesh waits
less for the first long one, and their backwards run while long forwards run elsewhere.
On the command line `--scales` gives the relative length of each microbatch, also with
towers, layouts and files, and for `meshwright simulate`:

```sh
meshwright schedule 1F1B --scales 3,1,1,3,1,3
meshwright schedule auto --scales 3,1,1,3,1,3
```

```
{scaled}```

The order may differ between stages, and between forwards and backwards. It is never
longer than 1F1B, or another fixed schedule that fits, in the order of the list. Memory
is counted in microbatches, whatever their lengths. In a program, microbatches of equal
shape take the time of the first one, in floating point work or
[on a device](#a-searched-schedule), and gradients are summed in the order of
backward passes. If a state is carried from one microbatch to the next, and among
microbatches of equal shape, the order of the list is kept.

## An optimizer that does not wait

To clip by the global norm, or to skip a step with gradients that are not finite, all
stages wait for each other at the end of a step, which brings back the bubbles that a
zero-bubble schedule has filled. With `post_validate` each stage updates as soon as it
has its own gradients, unless these alone show that the norm is too large. The next step
begins with `settle`, when the global norm is known: if needed, the update is undone and
repeated with clipping, or skipped if the norm is not finite.

```python
import optax

optimizer = mw.pipeline.optimizer(optax.adamw(1e-3), clip=1.0, post_validate=True)


def model_loss(weights, x, y):
    for stage, w in enumerate(weights):
        x = layer(w, mw.stage_boundary(x) if stage else x)
    return distance(x, y)


gradient = mw.pipeline.accumulate(
    jax.value_and_grad(model_loss), 8, batch_argnums=(1, 2)
)


def train(weights, state, xs, ys):
    weights, state = optimizer.settle(weights, state)
    value, grads = gradient(weights, xs, ys)
    weights, state = optimizer.update(grads, state, weights)
    return value, weights, state


weights = 4 * [np.ones((2, 2), np.float32)]
config = mw.make_config(
    meshes, pipeline_schedule=mw.get_pipeline_schedule("ZeroBubbleH1")
)
lowered = mw.jit(train, config).lower(weights, optimizer.init(weights), xs, ys)
```

Parameters and state are bit for bit those of `post_validate=False`.
To undo an update, the parameters, state and gradients before it are kept
until it is settled: one more array for each of them.

With `settle` the first forward still needs the norm of the previous step.
`optimizer.ahead(step, lambda f: mw.jit(f, config))` avoids this, for a step without
`settle`: it issues the step with the current parameters, and issues it again if
the norm requires that; its arguments cannot be donated. The first mesh then begins the
next step when it has ended its own work, not when the last mesh has. This gains the
time between the two, for 8 meshes and 24 microbatches:

{ahead_table}

The Optax chain must treat each array separately. `init` refuses others, such as
`optax.clip_by_global_norm`, by name:

```
pipeline.optimizer: the chain cannot be undone array by array for clip_by_global_norm:
what becomes of one array depends on grads[0] and grads[1]; clip by clip=, and leave
what else reads all gradients out, or take post_validate=False
```

## Overlapped pairs

A device runs one program after the other, so nothing overlaps with the collectives of a
fragment unless the fragment itself has independent work. If a schedule has two actions
in one step (DualPipe, DualPipeV, Combined1F1B, CombinedInterleaved1F1B and files), or
`auto` a backward after a forward, the two become one program
(`mpmd-fuse-overlapped-pairs`), whose compiler can overlap the collectives of one part
with the computation of the other. Microbatches with equal computations share this
program; it has the donations of both parts, and keeps the order of effects. `meshwright
simulate` [shows](simulate.md#overlapped-pairs) what a step gains.

Option `mpmd_fuse_overlapped_pairs` is on by default and applies if one of the parts has
collectives, from `shard_map` or shardings. A pair is not made, with a remark of kind
`overlap` (`mpmd_remarks`), if

- neither part has collectives, as on meshes of one device;
- another fragment runs between the two on their mesh, or a side effect would be moved;
- the second part depends on the first, directly or through other meshes;
- the step would become longer, because the first part would wait for operands of
  the second, or neighbours would wait for results. With `mpmd_schedule_device`, the
  [cost model](cost-model.md#overlapped-pairs) decides, including
  transfers, one at a time into and out of a mesh; without it, the shorter
  part counts as hidden, work is counted in operations, and transfers take no time.

A pair keeps the operands and results of both parts until both have ended, and
neighbours get the result of the forward only then. If each mesh starts its next pair
with results of the last pairs of both neighbours, it waits for transfers in between. So
these schedules split backward passes: the gradient of the input is in the pair, and
that of the weights, which no neighbour waits for, follows separately while the pair's
results are sent,

```
mesh 1 | F2+I0 W0 F3+I1 W1
mesh 2 | F1+I0 W0 F2+I1 W1
```

unless the step is shorter with both in the pair. Remarks call the gradient of the input
the *early half* of a backward, and that of the weights the *late half*.

With `mpmd_schedule_device` a late half may also be postponed, if the step is then
shorter: until its mesh is idle, as while the pipeline drains, or until a backward or
forward that is in no pair, or on TPUs a later pair. It becomes one program with that,
and hides its collectives, unless the longest path to the end of the step gets too long.
At most eight of a mesh wait. [Figures](hardware.md#overlapped-pairs) show the gain.

## Published figures

Figures of papers, compared with those of `meshwright schedule` on 8 meshes,
with forward, `I` and `W` of equal length and no transfers. Real runs have transfers,
unequal stages and collectives. N is the number of meshes, M of microbatches, v of
stages on a mesh, K of chunks; B is the idle time of 1F1B.

{anchors}

An even share is that of one mesh in the activations of one microbatch, beside a cache.

## A schedule of your own

`file:PATH` in place of a name reads a CSV file, in the format of PyTorch's pipelining:
a line for each mesh, a cell for each action, in order. A cell is stage, letter and
microbatch; `(0F3;7B1)OVERLAP_F_B` is an overlapped pair, of a forward and a backward
(`B` or `I`) of another microbatch; empty cells are ignored. A file that begins with a
brace is JSON, as `meshwright schedule NAME --json` prints it: `meshes`, each with its
`actions`, each with `stage`, `kind` (the letter) and `microbatch`, and
`"overlaps_next": true` in the first of an overlapped pair. Times and figures in it are
not read. `meshwright schedule NAME --csv` prints a schedule as CSV, to start from.
Letters `E`, `G`, `S` and `T` are those of [parts of a vocabulary](#large-vocabularies).
A stage without any action is empty, as of a [layout](#layouts); a row of only a comma
is a mesh without actions. For example:

```
{csv}```

Errors, with row and column, are: unknown cells, duplicate or missing
actions, a backward before its forward, a stage in two rows, overlapped pairs of one
microbatch, and orders in which meshes wait for each other forever:

```
{errors}```

The file must have as many rows as the pipeline has meshes, its stages on those
meshes, and as many microbatches as the program.

## What the compiler makes of it

Data flow takes precedence over a schedule, and so do effects: fragments of one mesh
with random numbers or side effects keep the order of the program
([import.md](import.md)). {lists}
and files are complete lists of actions. They need their stages on their meshes and, if
the drawing has `W`, split backward fragments (option `mpmd_split_bwd_fragments`);
otherwise there is an error, and a warning if data flow contradicts the list. Schedules
with pairs also split them; their `B` is both halves. A
backward that was not split takes the position of its `I`; this changes nothing for the
first stage, where each `W` directly follows its `I`. Three kinds of stages are never
split: at the bottom of a V, where the gradient stays on the mesh, stages without
trained parameters (a frozen backbone), and the first stage with some.

A sum of gradients after the calls is merged into the last microbatch that it adds,
which then needs all the others. This contradicts schedules that run the microbatches in
reverse order (CircularWithReversedBackward, LoopedBFS), or whose sum includes a copy of
the stage (DualPipe). For these `mw.jit` sets `mpmd_merge_inferred_after_scheduling`:
the order is then the drawn one, and the gradients of all microbatches are kept until
they are summed. With the option off, a warning says which microbatches depend on each
other; another remedy is to sum from the last microbatch to the first. A gradient around
all calls (`jax.grad` of a loss that calls each microbatch) sums from the last to the
first, and contradicts all schedules with ascending microbatches; under GPipe nothing is
lost by that if all stages sum so, and there is no warning.

With `mpmd_accumulate_in_units=True` each microbatch adds its gradient to the sum of
those before it, in the fragment that computes the gradient: one sum is kept instead of
a gradient for each microbatch. This applies where microbatches run in the order in
which they are added; the result is the same to the last bit. With overlapped pairs it
is on by default, as is `mpmd_split_manual_computations`, except with
`mpmd_fragment_remat`.

`mw.pipeline.accumulate` avoids all this: it adds up gradients in the backward pass of
each stage, so there is one sum whatever the number of microbatches, and no microbatch
waits for another. Only schedules in reverse order keep all gradients.

The other schedules are relations between pairs of fragments on a mesh. Pairs that are
not related, or that data flow orders otherwise, keep the order of the program, so a
program that is not a pipeline is accepted, but its order is not the drawn one.
Zero-bubble relations leave most positions of `W` open; a pipeline gets the drawn order
with `mpmd_complete_schedule`.

A list has at most 4,194,304 actions. More are usually the result of a wrong number,
such as a call counter that does not start from 0, which the message names.

[How to add a schedule](developing/adding.md#a-schedule).
"""


class Tool:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder

    def run(self, *arguments: object, stdin: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(
            [self.folder / "meshwright", "schedule", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            input=stdin,
        )

    def draw(self, name: str, *arguments: str) -> str:
        microbatches = (
            MESHES if name == "ParallelPipelinesWithWrapAround" else MICROBATCHES
        )
        shape = f"--meshes={MESHES}", f"--microbatches={microbatches}"
        done = self.run(name, *shape, *arguments)
        if done.returncode:
            sys.exit(done.stderr)
        return done.stdout

    def figures(self, name: str) -> dict[str, Any]:
        """The order of a schedule with its times."""
        return json.loads(self.draw(name, "--json"))

    def place(self, name: str) -> list[list[int]]:
        """The stages of each mesh."""
        if name == "ParallelPipelinesWithWrapAround":
            return [[mesh] for mesh in range(MESHES)]
        return [
            sorted({action["stage"] for action in mesh["actions"]})
            for mesh in self.figures(name)["meshes"]
        ]


def write_config(places: list[list[int]]) -> str:
    """The configuration of a program whose stages are on these meshes."""
    meshes = {stage: mesh for mesh, row in enumerate(places) for stage in row}
    entries = [f'"stage{s}": ["m{meshes[s]}", {s}]' for s in sorted(meshes)]
    assignment = textwrap.fill(", ".join(entries), width=76, initial_indent="    ")
    assignment = assignment.replace("\n", "\n    ")
    topology = ", ".join(f'"m{m}": {{"x": 1}}' for m in range(len(places)))
    return (
        f'{{\n  "topology": {{{topology}}},\n'
        f'  "assignment": {{\n{assignment}\n  }},\n'
        '  "options": {"mpmd_infer_transfers": true, "mpmd_complete_schedule": true}\n'
        "}\n"
    )


def show_use(tool: Tool, name: str) -> str:
    """The stage map of a schedule, and how it is run on both ways."""
    places = tool.place(name)
    count = sum(map(len, places))
    text = "Stages: " + ", ".join(
        f"m{mesh} has {' and '.join(map(str, row))}" for mesh, row in enumerate(places)
    )
    python = f'lowered = lower("{name}", stages={count})\n'
    if name == "DualPipe":
        python = f'lowered = lower("{name}", stages={count}, copies=2)\n'
    if name == "ParallelPipelinesWithWrapAround":
        python = RING
    if name == "VocabParallel1F1B":
        python = schedule_vocabulary.PROGRAM
    command = (
        f"meshwright partition step.mlir --config step.json --schedule {name} -o out"
    )
    return f"{text}.\n\n```python\n{python}```\n\n```sh\n{command}\n```\n\n"


def read_figures(timeline: dict[str, Any]) -> tuple[str, str, str]:
    """Makespan, bubble (of the whole, and of the longest span), peak live."""
    meshes = timeline["meshes"]
    span = max(
        mesh["actions"][-1]["stop"] - mesh["actions"][0]["start"] for mesh in meshes
    )
    idle = [
        f"{1 - sum(mesh['busy'] for mesh in meshes) / (len(meshes) * time):.1%}"
        for time in (timeline["makespan"], span)
    ]
    whole, longest = (text.replace("%", " %") for text in idle)
    bubble = whole if longest == whole else f"{whole} ({longest})"
    live = " ".join(str(mesh["peak_live"]) for mesh in meshes)
    return str(timeline["makespan"]), bubble, live


def write_page(tool: Tool) -> str:
    builtin = [Schedule(*facts) for facts in native.extension().schedules()]
    sources = {schedule.name: schedule.source for schedule in builtin}
    drawings = {name: tool.draw(name) for name, _ in SECTIONS}
    names = [line.split()[0] for line in tool.run().stdout.splitlines()]
    if sorted(names) != sorted(drawings):
        missing = sorted(set(names) ^ set(drawings))
        sys.exit(f"schedules without a section in schedule_sections.py: {missing}")
    introduction = INTRODUCTION.format(
        meshes=MESHES,
        microbatches=MICROBATCHES,
        program=PROGRAM.read_text().split("\n\n", 1)[1],
        config=write_config(tool.place("ZeroBubbleV")),
    )
    page = [introduction]
    page.append("| schedule | makespan | bubble | peak live per mesh |\n")
    page.append("| --- | --- | --- | --- |\n")
    for name in drawings:
        makespan, bubble, live = read_figures(tool.figures(name))
        page.append(f"| [{name}](#{name.lower()}) | {makespan} | {bubble} | {live} |\n")
    page.append(
        "\nIn parentheses: between the first and the last action of a mesh.\n\n"
    )
    for name, text in SECTIONS:
        page.append(f"## {name}\n\n{text.format(microbatches=MESHES)}\n\n")
        page.append(f"```\n{drawings[name]}```\n\n")
        page.append(show_use(tool, name))
        if sources[name]:
            page.append(f"Source: {sources[name]}.\n\n")
    bad = "unittests/Schedule/tables/bad"
    errors = [
        tool.run(f"file:{bad}/{name}.csv").stderr.replace(f"{bad}/", "")
        for name in (
            "cell",
            "twice",
            "missing",
            "w_before_i",
            "two_ranks",
            "overlap",
            "deadlock",
        )
    ]
    seq = tool.run("Seq1F1B:2", f"--meshes={MESHES}", "--microbatches=4").stdout
    slim = tool.run("SlimPipe:4", f"--meshes={MESHES}", "--microbatches=2").stdout
    layout = tool.run(
        "Interleaved1F1B",
        "--layout=Et|t|t|t|t||tt|L",
        f"--meshes={MESHES}",
        "--microbatches=4",
    ).stdout
    bad_layouts = "".join(
        tool.run("1F1B", f"--layout={text}").stderr
        for text in ("Et|x|L", "E(tt|", "t|E|L")
    )
    scaled = "\n".join(
        tool.run(name, f"--meshes={MESHES}", "--scales=3,1,1,3,1,3").stdout
        for name in ("1F1B", "auto")
    )
    csv = tool.run("1F1B", "--csv", "--meshes=2", "--microbatches=4").stdout
    names = {s.name for s in builtin if not s.is_relation} - {"none"}
    lists = ", ".join(sorted(names))
    lists = textwrap.fill(lists, width=70)
    page.append(
        OF_YOUR_OWN.format(
            csv=csv,
            errors="".join(errors),
            lists=lists,
            layout=layout,
            graphs=schedule_graphs.write_graphs(tool, bad),
            vocabulary=schedule_vocabulary.write_vocabulary(tool),
            bad_layouts=bad_layouts,
            seq=seq,
            anchors=schedule_figures.write_anchors(tool),
            ahead_table=schedule_figures.write_ahead_table(tool),
            slim=slim,
            scaled=scaled,
            sequence_table=schedule_figures.write_sequence_table(tool),
        )
    )
    return "".join(page)


def draw_images(tool: Tool, folder: pathlib.Path) -> None:
    """An SVG file for each schedule."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, _ in SECTIONS:
        (folder / f"{name}.svg").write_text(tool.draw(name, "--svg"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    parser.add_argument("--svg", type=pathlib.Path, metavar="FOLDER")
    args = parser.parse_args()
    if args.svg:
        draw_images(Tool(args.bin.resolve()), args.svg)
        return
    page = write_page(Tool(args.bin.resolve()))
    if not args.check:
        PAGE.write_text(page)
    elif not PAGE.exists() or PAGE.read_text() != page:
        sys.exit(f"{PAGE.relative_to(ROOT)} is out of date; run {parser.prog}")


if __name__ == "__main__":
    main()
