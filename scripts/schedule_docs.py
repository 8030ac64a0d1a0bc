#!/usr/bin/env python3
"""Writes docs/schedules.md: each schedule drawn, with its figures.

    .venv/bin/python scripts/schedule_docs.py [--bin build/bin] [--check]
    .venv/bin/python scripts/schedule_docs.py --svg FOLDER   an image of each

All drawings and numbers come from `meshwright schedule`; only the sentences in
between stand here. With --check nothing is written, and the exit code is 1 if
the page is not what would be written.
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

For everyone who trains on a pipeline of meshes: in which order does each mesh do
its work, how long is it idle, and how much does it have to keep?

<!-- Written by scripts/schedule_docs.py; change that, not this page. -->

`meshwright schedule` lists them, and `meshwright schedule NAME --meshes 4
--microbatches 8` draws one for any pipeline, as here.

## How to run one

A schedule orders what one microbatch does in one stage. So a program names the
computations of a stage, calls each microbatch with its number, and takes the
gradient inside of that call. `stage_assignment` says on which mesh a schedule wants
each stage, and `get_pipeline_schedule` gives it with the options it needs, such as
split backward fragments. Both take the names of this page and those of the registry
(`ZeroBubbleV`, `ZERO_BUBBLE_V`), and `file:PATH`.

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
leaves pairs open, its drawing decides. For the pass alone there is
`-mpmd-pipeline-scheduler=must-happen-before=NAME`. Outside of Python the names are
found in any case, also with `builtin:` before them.

## How to read the drawings

Each line is a mesh, time goes to the right. `F3` is the forward of microbatch 3,
`B3` its backward, which takes twice as long (`===`). Where the backward is split,
`I3` is the gradient of the input, for which the stage before waits, and `W3` that
of the weights, for which nothing waits. `.` is a unit of time in which the mesh is
idle. With several stages on a mesh, the stage comes first: `5F3`. `5F3+2B1` is one
step in which a forward and a backward overlap.

All drawings are of {meshes} meshes and {microbatches} microbatches unless they say
otherwise, and count forward, `I` and `W` of a stage as 1, transfers as 0; the
options `--forward`, `--input`, `--weight` and `--transfer` draw with others.

- *Bubble* is the part of the whole time, from the first start to the last end, in
  which the meshes idle. Where a mesh starts later but ends later as well, the
  bubble *between the first and the last action of a mesh* is smaller; papers on
  zero-bubble schedules give that.
- *Peak live microbatches* are forwards whose backward has not ended, for each mesh
  and each of its stages: what has to be kept. Of a split backward, a part is
  already freed after `I`; the second line counts until there.

## Overview

With two stages on each mesh a stage takes half the time, so compare bubbles, not
makespans; live microbatches are those of stages, so two count as one of a mesh.

"""

OF_YOUR_OWN = """\
## A searched schedule

Builtin schedules are made for stages that are alike. `auto` looks for the shortest
order for stages as they are: of unequal length, with transfers, in the memory that each
mesh has.

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

Times are positive integers, in a unit of your choice: a forward, the two halves of a
backward, and the backward as a whole (the sum of its halves, if it is not given). A
stage with `"split": false` keeps its backward whole, any other is split where that
helps. `"mesh"` in every stage says where each one is; otherwise there is one on each
mesh, or `--stages-per-mesh`, looped or, for two, folded like a V, whichever is shorter.
`--memory` bounds what a mesh keeps: microbatches, counted in each of its stages, from
the start of their forward to the end of their backward; by default as many as there are
stages. `--json` prints all times.

With `--host T` activations may wait in the memory of their mesh's host, and do not
count for `--memory` there: the link takes T for those of one microbatch in one stage,
each way. An order may then hold more than the devices can, as long as the link takes
the rest, and forwards wait for it where no backward becomes later.

```sh
meshwright schedule auto --meshes 4 --microbatches 8 --memory 2 --host 1
```

In a program `mpmd_offload_activations` does
[that](recipes.md#activations-in-host-memory), for this schedule and others. It lowers
the peak of a mesh as far as activations make it: of a GPT of 32 layers in 8 stages
with 32 microbatches under 1F1B (`bench/offloaded_activations.py`) the first stage's to
0.47, the simulated step as long as before, and to 0.61 to 0.69 where weights and their
moments take most of the memory.

The last lines say how good the order is: a lower bound that no order can beat, and
whether the search has proven that there is none shorter. It always has for up to three
meshes and four microbatches; with unequal stages on eight meshes the order is rarely
more than a few per cent above the bound. For stages that are alike,
`bench/auto_schedules.py` gives it what each builtin schedule keeps on 2, 4 and 8 meshes
with 4 to 32 microbatches: of 177 such pipelines its order is shorter than the best
builtin one that fits in 48, by up to 29.5 %, as long in 129, and longer in none.
DualPipe is not among them: it has two copies of the model.

Which layers make a stage, and which stages share a mesh, `meshwright plan --schedules
auto` chooses [together with the order](plan.md#unequal-layers).

In a program, `mpmd_pipeline_schedule=auto` looks at the stages that the program has, in
the memory of 1F1B, or that of `mpmd_schedule_memory=3,3,2`. Where a forward is followed
by a backward of another microbatch, the two are a [pair](#overlapped-pairs) if that
gains. Times are floating point work of the fragments and transfers take none, unless
options say otherwise:

- `mpmd_schedule_device=h100`: seconds of the [cost model](cost-model.md) on that
  device, with what collectives inside of fragments take, and the longest transfer;
- `mpmd_schedule_profile=run.json`: what [`mw.profile`](runtime.md#recordings) recorded
  of this program, or of one with another number of microbatches. Fragments that it
  misses are listed, and estimated for the device; without a device they are an error;
- `mpmd_custom_costs='flash_attention=flops:4*b*h*t*t*d'`: what custom calls do. Those
  of unknown work are listed.

For other times still, write a CSV file as above and give that.

## Chunks of a sequence

With long sequences, what a stage keeps of a microbatch is large, and microbatches are
few. Seq1F1B and SlimPipe take a microbatch in K chunks of its sequence: forward first
to last, each reading what the chunks before it leave in a cache, and back last to
first, with the gradient of the cache. Beside the cache a stage keeps chunks, not
microbatches, and the pipeline fills and drains in steps of a chunk. `NAME:K` draws one;
`F1.2` is chunk 2 of microbatch 1:

```sh
meshwright schedule Seq1F1B:2 --meshes 4 --microbatches 4
meshwright schedule SlimPipe:4 --meshes 4 --microbatches 2
```

```
{seq}
{slim}```

Mesh m of N keeps N − m + K − 1 chunks under Seq1F1B, and with at least as many chunks
as meshes and v stages on each v K + 2 (N − 1 − m) under SlimPipe: of all pieces of a
microbatch, v K N, hardly more than its share of one. 8 microbatches on 8 meshes,
forward and backward as above:

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

Of causal attention later chunks take longer. `sequence_chunks` takes lengths as well,
and `mw.pipeline.chunk_lengths` cuts by time: for a sequence of 1024 where a position
takes as long as attending to 128 others, `chunk_lengths(1024, 4, linear=128,
quadratic=1, multiple=16)` is 464, 224, 176 and 160.

Refused are sequences that the number of chunks does not divide, lengths that do not add
up to the sequence, and a model that looks ahead, with the value that it reads: `the
model looks ahead in the sequence: the forward of chunk 0 of microbatch 0 in stage 0
reads this value of type 'tensor<2x4xf32>' of chunk 1`.

## Layouts

`mw.pipeline.layout` says as a text what each stage holds, as users of Megatron write
it: E is the embedding, t a layer, m an extra prediction head, and L the head with the
loss. A bar ends a stage, parentheses group, `*n` repeats the piece, bar or group before
it; commas and spaces mean nothing. `Layout.run` runs the pieces of a model, functions
of what the piece before gives, with a mark between two stages:

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

Stages may hold nothing but a head, and two bars in a row leave one empty: it takes a
place in the schedule, and no time, also under `auto` and in files. What goes through
the model passes it by, straight to the next stage that holds something. In place of
`--times`, `--layout` draws a schedule for stages of this many pieces; here nothing is
in stage 5:

```sh
meshwright schedule Interleaved1F1B --meshes 4 --microbatches 4 \\
    --layout 'Et|t|t|t|t||tt|L'
```

```
{layout}```

For models whose pieces are modules, `layout.paths` takes their paths, and gives those
at which stages begin, for `mw.marked`. A text that is no layout is refused with the
character at which it is none, a model with other pieces with both numbers:

```
{bad_layouts}```

The bars must leave as many stages on each mesh as the schedule wants.

{graphs}{vocabulary}
## Microbatches of a few shapes

Sequences of some lengths, in buckets, need not be padded to the longest: in the place
of an array, `mw.pipeline.accumulate` takes a list with an entry for each microbatch,
and these may differ in their shapes. There is one set of programs for each shape,
however often it comes, and all gradients are summed in the same buffers. A mean is that
of microbatches, whatever their lengths; where positions count, sum, and divide by their
number. Results of several shapes cannot be stacked, and sequences that are cut into
chunks are of one length.

Under a fixed schedule, microbatches run in the order of the list. `auto` chooses it by
their times: here the short ones fill the pipeline, so that its end waits less for the
first long one, and their backwards run beside the forwards of these. On the command
line `--scales` says how many times as long each one takes; towers, layouts, files and
`meshwright simulate` know it as well:

```sh
meshwright schedule 1F1B --scales 3,1,1,3,1,3
meshwright schedule auto --scales 3,1,1,3,1,3
```

```
{scaled}```

The order may differ between stages, and between forwards and backwards. It is never
later than 1F1B in the order of the list, or another fixed schedule that fits. Memory is
counted in microbatches, whatever their lengths. In a program, those of a shape take
what the fragments of the first one do, in floating point work or
[on a device](#a-searched-schedule), and each gradient is added to the sum as its turn
comes. Where something else goes from one microbatch to the next, such as a state, they
keep the order of the list, as those of one shape do.

## An optimizer that does not wait

To clip by the global norm, or to leave out a step whose gradients are not finite, all
stages wait for each other at the end of a step, and with them the bubbles come back
that a zero-bubble schedule has filled. With `post_validate` each stage updates as soon
as it has its own gradients, if these alone do not say yet that the norm is too large.
The next step begins with `settle`, when the whole norm is known: where it changes
something, the update is undone and done again, clipped, or not at all if the norm is
not finite.

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

Parameters and state are those of the waiting form (`post_validate=False`) in every bit.
For that the parameters, the state and the gradients before the last update are kept
until it is settled: one array more for each of them.

With `settle` the first forward still needs the norm of the step before. A step that is
made by `optimizer.ahead(step, lambda f: mw.jit(f, config))`, of a step without
`settle`, does not: it is issued with the parameters as they are, and issued again if
the norm says so; its arguments cannot be donated. The first mesh then begins the next
step when it has ended its own work, not when the last one has. What that gains is the
time between the end of its work and that of the whole step, for 8 meshes and 24
microbatches:

{ahead_table}

The chain must treat each array alone. One that does not, such as one with
`optax.clip_by_global_norm`, is refused by `init` with its name:

```
pipeline.optimizer: the chain cannot be undone array by array for clip_by_global_norm:
what becomes of one array depends on grads[0] and grads[1]; clip by clip=, and leave
what else reads all gradients out, or take post_validate=False
```

## Overlapped pairs

A device runs one program after the other, so that nothing hides the collectives of a
fragment that has nothing else to do meanwhile. Where a schedule has two actions in one
step (DualPipe, DualPipeV, Combined1F1B, CombinedInterleaved1F1B and files), or `auto` a
backward after a forward, the two become one program (`mpmd-fuse-overlapped-pairs`),
whose compiler can run the collectives of the one beside the work of the other. There is
one such program for all microbatches that compute the same, with the donations of both;
effects keep their order. What a step gains, `meshwright simulate`
[shows](simulate.md#overlapped-pairs).

Option `mpmd_fuse_overlapped_pairs` is on, and pairs where a half has collectives:
those of `shard_map`, or that shardings make. Pairs stay apart, each with a remark of
category `overlap` (`mpmd_remarks`), where

- neither half has collectives, as on meshes of one device;
- something else runs between the two on their mesh, or acts on the world;
- the second needs what the first computes, directly or by way of other meshes;
- the step would be longer for it, as the first would wait for what only the second
  needs, or neighbours for what one of them computes. With `mpmd_schedule_device`, the
  [cost model](cost-model.md#overlapped-pairs) says so, and transfers take their
  time, one after the other on the ways out of a mesh and into one; without, the shorter
  one is taken to be hidden, work is counted in operations, and transfers take nothing.

A pair holds what both read and return until both have ended, and neighbours get the
result of a forward when the backward has ended, too. Where each mesh starts its next
pair with what the last ones of both neighbours have made, it waits for transfers in
between. So these schedules split backwards: the gradient of the input is paired, and
that of the weights, which no neighbour waits for, follows by itself while the pair's
results travel,

```
mesh 1 | F2+I0 W0 F3+I1 W1
mesh 2 | F1+I0 W0 F2+I1 W1
```

where the step is shorter for that, and else is a part of the pair as well. How much of
the exchanges of experts is hidden by the compilers of H100 and v5p, and what a step
gains, is measured [there](hardware.md#overlapped-pairs).

## Published figures

What papers say of their schedules, beside what `meshwright schedule` draws on 8 meshes,
with forward, `I` and `W` of equal length and no transfers. Real runs have transfers,
unequal stages and collectives. N is the number of meshes, M of microbatches, v of
stages on a mesh, K of chunks; B is the idle time of 1F1B.

{anchors}

An even share is that of one mesh in the activations of one microbatch, beside a cache.

## A schedule of your own

`file:PATH` in place of a name reads a CSV file: a line for each mesh, a cell for
each action, in order. A cell is stage, letter and microbatch; `(0F3;7B1)OVERLAP_F_B`
is an overlapped pair, of a forward and a backward (`B` or `I`) of another microbatch,
an empty cell an idle slot that means nothing. PyTorch's pipelining writes its
computations in this form. A file that begins with a brace is JSON, as `meshwright
schedule NAME --json` prints it: `meshes`, each with its `actions`, each with `stage`,
`kind` (the letter) and `microbatch`, and `"overlaps_next": true` in the first of an
overlapped pair. Times and figures in it are not read. `meshwright schedule NAME --csv`
prints a schedule as CSV, to start from. Letters `E`, `G`, `S` and `T` are those of
[parts of a vocabulary](#large-vocabularies). A stage without any action is empty, as of
a [layout](#layouts), and a row of nothing but a comma a mesh that holds nothing:

```
{csv}```

Refused are, with row and column: unknown cells, an action twice, work that is
missing, a backward before its forward, a stage in two rows, overlapped pairs of one
microbatch, and orders in which meshes wait for each other forever:

```
{errors}```

The file must have as many rows as the pipeline has meshes, its stages on those
meshes, and as many microbatches as the program.

## What the compiler makes of it

Data flow always wins, and so do effects: fragments of one mesh that draw random
numbers or act on the world keep the order of the program
([import.md](import.md)). {lists}
and files are complete lists. They need their stages on their meshes and, if the
drawing has `W`, split backward fragments (option `mpmd_split_bwd_fragments`); it is an
error if they are not there, and a warning if data flow contradicts the list. Those that
overlap split them as well, and a `B` is both halves. A
backward that was not split takes the place of its `I`; that changes nothing for the
first stage, where each `W` follows its `I` at once. Stages that send their gradient
to their own mesh, at the bottom of a V, are never split, nor are stages that train
nothing (a frozen backbone) and the first one that trains: they have no halves.

The sum of the gradients is merged into the last microbatch that it adds, which
then needs all the others. Where a schedule runs the microbatches backwards
(CircularWithReversedBackward, LoopedBFS), or the sum goes to a copy of the stage
(DualPipe), that contradicts it. `mw.jit` therefore sets
`mpmd_merge_inferred_after_scheduling` for these: the order is then the drawn one,
and the gradients of all microbatches are kept until they are summed. With the option
off, a warning says which microbatches depend on each other, and summing from the
last microbatch to the first is another remedy. A gradient that is taken around all
calls (`jax.grad` of a loss that calls each microbatch) sums from the last to the
first, and contradicts all schedules that go the other way.

`mw.pipeline.accumulate` does better: it adds up inside of the backward of each stage,
so there is one sum whatever the number of microbatches, and no microbatch waits for
another one. Only where the microbatches run backwards are the gradients kept.

The other schedules are facts about pairs of fragments on a mesh, "this before
that". Where there is none, or where data flow says otherwise, the order of the
program stays, so a program of another shape than a pipeline is not refused; its
order is just not the one that is drawn. The zero-bubble ones among them say little
about `W`; a pipeline gets the drawn order with `mpmd_complete_schedule`.

A list has at most 4194304 actions. More do not come from a program, but from an error
in a number, such as a call counter that does not count from 0; the message names it.

A new schedule is a file in `meshwright/Schedule` that makes the lists, or the
facts, and a line in `BuiltinSchedules.def`.
"""

SECTIONS = [
    (
        "none",
        "The order of the program; here, of one written microbatch by microbatch.",
    ),
    ("GPipe", "Every mesh keeps all microbatches."),
    ("1F1B", "The bubble of GPipe, but mesh m of N keeps N − m microbatches at most."),
    (
        "Eager1F1B",
        "With transfers that take time, 1F1B waits for them in every round. Twice "
        "as many forwards in flight hide them, for twice the memory.",
    ),
    (
        "GPipeBut1F1BForLastMesh",
        "The last mesh need not keep anything: each backward can follow its forward.",
    ),
    (
        "Circular",
        "Two stages on each mesh. As many microbatches as meshes, a phase, go "
        "through all stages before the next phase.",
    ),
    (
        "CircularWithReversedBackward",
        "The backward work in exactly the opposite order of the forward work.",
    ),
    (
        "Interleaved1F1B",
        "Two stages on each mesh: the pipeline fills and drains in half the time, "
        "for more transfers. Microbatches must fall into equal rounds of at least "
        "as many as there are meshes.",
    ),
    (
        "Combined1F1B",
        "Each forward runs with a backward in one overlapped step, so that the "
        "communication of experts overlaps with computation. Two more forwards than on "
        "the next mesh come first, so that no step waits.",
    ),
    (
        "CombinedInterleaved1F1B",
        "The same in the order of Interleaved1F1B.",
    ),
    (
        "KimiK2",
        "Interleaved1F1B with one more forward in flight: also on the last mesh a "
        "backward and the forward after it are of different microbatches, so that "
        "the communication of experts in one can run beside the other.",
    ),
    (
        "Seq1F1B",
        "1F1B over chunks of sequences; drawn here with one chunk, which is 1F1B. How "
        "to cut sequences is described [below](#chunks-of-a-sequence).",
    ),
    (
        "SlimPipe",
        "The same over two stages on each mesh; drawn here with one chunk, which is "
        "Interleaved1F1B.",
    ),
    (
        "VocabParallel1F1B",
        "Each mesh has a stage of a chain and a part of the head: `S` takes the logits "
        "of its part of the vocabulary, their maximum and sum, and `T` needs those of "
        "all parts. Mesh m of N keeps N − m + 2 microbatches, and the last one has as "
        "much to do as the others. What can be cut is described "
        "[below](#large-vocabularies).",
    ),
    (
        "LoopedBFS",
        "Two stages on each mesh, and all microbatches through one after another, "
        "so that the gradients of a stage are complete early.",
    ),
    (
        "ZeroBubbleH1",
        "The gradients of weights wait until nothing else can be done. The bubble "
        "of 1F1B shrinks to a third at these costs.",
    ),
    (
        "ZeroBubbleH2ZeroTxLatency",
        "With enough forwards in flight no mesh idles between its first and its "
        "last action.",
    ),
    (
        "ZeroBubbleH2HalfTxLatency",
        "The same, if a transfer takes half as long as a forward.",
    ),
    (
        "ZeroBubbleH2FullTxLatency",
        "The same, if a transfer takes as long as a forward.",
    ),
    (
        "InterleavedZeroBubble",
        "Interleaved 1F1B with split backwards; with one stage on each mesh it is "
        "ZeroBubbleH1.",
    ),
    (
        "ZeroBubbleV",
        "Two stages on each mesh, placed like a V: the first mesh also has the last "
        "stage. No bubble as ZeroBubbleH2, with the memory of 1F1B's first mesh on "
        "every mesh.",
    ),
    (
        "VHalf",
        "The same V with about half of that memory: a microbatch moves through the "
        "meshes at an even pace, and the next one follows as soon as its actions fit "
        "between. Some bubble instead.",
    ),
    (
        "VMin",
        "The same with about a third of the memory, and more bubble where stages are "
        "not alike.",
    ),
    (
        "DualPipeV",
        "Placed like a V as well; the forward of one stage runs with the backward of "
        "the other, so that the communication of experts overlaps with computation. "
        "Needs twice as many microbatches as meshes.",
    ),
    (
        "DualPipe",
        "The model twice: stage 4 + j is a copy of stage j, microbatches enter at "
        "both ends. The program must add the gradients of the copies. Needs an even "
        "number of meshes and twice as many microbatches.",
    ),
    (
        "ParallelPipelinesWithWrapAround",
        "Inference on a ring: each microbatch starts on its own mesh. {microbatches} "
        "microbatches.",
    ),
    (
        "Towers",
        "A graph of stages, in which each tower has a schedule of its own; drawn here "
        "with one tower, which is 1F1B. What towers are is described "
        "[below](#graphs-of-towers).",
    ),
    (
        "auto",
        "Searched: for the work of the program's own stages, the shortest order "
        "that a search finds in the memory of 1F1B. Never longer than another schedule "
        "of this page that fits; drawn here for stages that are alike. How to give "
        "times and memory is described [below](#a-searched-schedule).",
    ),
]


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
        sys.exit(f"schedules without a section here: {missing}")
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
