"""Random models as Python functions with names: layers, microbatches, options.

What a user writes: `text` is the module that the front end makes of it, `compiled`
the same by `mw.jit`; without partitioning it is the function itself.
"""

import dataclasses
import random
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

import meshwright as mw
from support.frontend_ir import emitted

SCHEDULES = ["1F1B", "GPipe", "none", "GPipeBut1F1BForLastMesh"]
# Those that want weight gradients apart, or more stages than meshes.
SPLITTING = ["ZeroBubbleH1", "ZeroBubbleH2ZeroTxLatency"]
CIRCULAR = ["Circular", "CircularWithReversedBackward"]
INTERLEAVED = ["Interleaved1F1B", "LoopedBFS"]
WIDTH = 4


@dataclasses.dataclass
class Model:
    """A function of weights and microbatches, and where its parts run."""

    function: Callable
    weights: list[np.ndarray]
    batches: np.ndarray
    meshes: list[str]
    assignment: dict[str, str]
    stages: dict[str, int]
    options: dict
    donates: bool
    trains: bool

    @property
    def arguments(self) -> tuple:
        return self.weights, self.batches

    def text(self) -> str:
        return emitted(self.function, *self.arguments, keep_unused=True)

    def config(self) -> dict:
        places = {
            name: [mesh, self.stages[name]] if name in self.stages else mesh
            for name, mesh in self.assignment.items()
        }
        config = {
            "topology": {mesh: {"x": 2} for mesh in self.meshes},
            "assignment": places,
            "options": self.options,
        }
        if self.donates:
            config["donate"] = list(range(len(self.weights)))
        return config

    def compiled(self) -> Callable:
        devices = jax.devices()
        topology = {
            mesh: Mesh(np.array(devices[2 * i : 2 * i + 2]), "x")
            for i, mesh in enumerate(self.meshes)
        }
        config = mw.make_config(
            topology,
            self.assignment,
            name_to_stage_assignment=self.stages or None,
            partitioning_options=dict(self.options),
        )
        donated = {"donate_argnums": 0} if self.donates else {}
        return mw.jit(self.function, config, **donated)


def dense(w, h):
    return jnp.tanh(h @ w)


def attention(w, h):
    scores = jax.nn.softmax((h @ w) @ h.T)
    return scores @ h


def convolution(w, h):
    taps = w[:3, :1].reshape(3, 1, 1)
    image = h.reshape(h.shape[0], WIDTH, 1)
    found = jax.lax.conv_general_dilated(
        image, taps, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
    )
    return jnp.tanh(found.reshape(h.shape))


def experts(w, h):
    gate = jax.nn.softmax(h @ w[:, :2])
    both = jnp.stack([jnp.tanh(h @ w), h * w[0]])
    return jnp.einsum("be,ebf->bf", gate, both)


def routed(w, h):
    chosen = jnp.argmax(h @ w[:, :2], axis=-1)
    return jnp.where((chosen == 0)[:, None], jnp.tanh(h @ w), jnp.sin(h))


def recurrent(w, h):
    def step(state, _):
        state = jnp.tanh(state @ w + h)
        return state, state.sum()

    last, sums = jax.lax.scan(step, h, None, length=3)
    return last + sums.mean()


def conditional(w, h):
    return jax.lax.cond(h.sum() > 0, lambda: jnp.tanh(h @ w), lambda: h * w[1])


def loop(w, h):
    return jax.lax.fori_loop(0, 2, lambda i, v: jnp.tanh(v @ w) + 0.1 * i, h)


def embedding(w, h):
    return h + w[jnp.argmax(h, axis=-1)]


LAYERS = [dense, attention, convolution, experts, routed, recurrent]
LAYERS += [conditional, loop, embedding]


def draw(seed: int, ours: bool = False) -> Model:
    """The model of a number; with `ours` also what the peer does not have: its other
    options and schedules, and memory kinds."""
    rng = random.Random(f"function {seed}")
    numbers = np.random.default_rng(seed)
    count = rng.randint(1, 4)
    meshes = [f"m{i}" for i in range(count)]
    rounds = rng.choice([1, 1, 1, 2])
    kinds = [rng.choice(LAYERS) for _ in range(count * rounds)]
    # Which weights a layer has: mostly its own.
    owners = [
        rng.randrange(i + 1) if rng.random() < 0.2 else i for i in range(len(kinds))
    ]
    tensors = {
        f"t{i}": rng.choice(meshes) for i in range(len(kinds)) if rng.random() < 0.15
    }
    if ours:
        tensors = {
            name: mesh + rng.choice(["", "", "#pinned_host", "#device"])
            for name, mesh in tensors.items()
        }
    microbatches = rng.randint(1, 5)
    trains, called = rng.random() < 0.7, rng.random() < 0.8
    updates_by_name = rng.random() < 0.3
    names = {f"s{i}": meshes[i % count] for i in range(len(kinds))}
    assignment = names | tensors
    if trains and updates_by_name:
        assignment |= {f"u{i}": names[f"s{i}"] for i in sorted(set(owners))}

    def forward(weights, x):
        h = x
        for i, (kind, owner) in enumerate(zip(kinds, owners, strict=True)):
            h = mw.named_computation(kind, name=f"s{i}")(weights[owner], h)
            if f"t{i}" in tensors:
                h = mw.named_tensor(h, name=f"t{i}")
        return h

    def one(weights, x):
        if not trains:
            return forward(weights, x)
        return jax.value_and_grad(lambda w: (forward(w, x) ** 2).mean())(weights)

    def step(weights, batches):
        results = []
        for k in range(microbatches):
            body = mw.call(one, call_counter=k) if called else one
            results.append(body(weights, batches[k]))
        if not trains:
            return results
        loss = sum(loss for loss, _ in results) / microbatches
        total = results[0][1]
        for _, gradients in results[1:]:
            total = jax.tree.map(jnp.add, total, gradients)
        new = []
        for i, (w, g) in enumerate(zip(weights, total, strict=True)):

            def update(w, g):
                return w - 0.1 * g

            if f"u{i}" in assignment:
                update = mw.named_computation(update, name=f"u{i}")
            new.append(update(w, g))
        return loss, new

    # A stage is there once for each microbatch, which calls tell apart.
    has_stages = called and (rounds == 2 or rng.random() < 0.3)
    stages = {f"s{i}": i for i in range(len(kinds))} if has_stages else {}
    schedules = SCHEDULES + (CIRCULAR if has_stages else [])
    options = {"mpmd_infer_transfers": True}
    options["mpmd_fragment_remat"] = rng.random() < 0.3
    if rng.random() < 0.2:
        schedules = SPLITTING
    if ours and rounds == 1 + has_stages and rng.random() < 0.3:
        schedules = INTERLEAVED if rounds == 2 else ["Eager1F1B"]
    options["mpmd_pipeline_schedule"] = rng.choice(schedules)
    options["mpmd_split_bwd_fragments"] = schedules is SPLITTING or rng.random() < 0.2
    options["mpmd_infer_cross_mesh_reductions"] = rng.random() < 0.5
    if ours:
        for name in OPTIONS:
            if rng.random() < 0.3:
                options[name] = True
    donates = trains and rng.random() < 0.5
    weights = [numbers.normal(0, 0.5, (WIDTH, WIDTH)).astype(np.float32) for _ in kinds]
    batches = numbers.normal(0, 1, (microbatches, 2, WIDTH)).astype(np.float32)
    return Model(
        step, weights, batches, meshes, assignment, stages, options, donates, trains
    )


OPTIONS = [
    "mpmd_absorb_inferred_fragments_on_entry_point_function",
    "mpmd_accumulate_in_units",
    "mpmd_apply_merge_transfers_pass",
    "mpmd_copy_constant_creation_from_producer_to_consumer",
    "mpmd_defer_reductions",
    "mpmd_hoist_invariants",
    "mpmd_merge_forward_with_backward",
    "mpmd_merge_inferred_after_scheduling",
    "mpmd_merge_remat_fragments",
]
