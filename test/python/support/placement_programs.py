"""Training steps over models in stages, and where each part of them has to be.

What a step may send, and where its state belongs, is computed from the model: a stage
sends its activation to the next one for each microbatch, and gets the derivative of it
if anything before is trained; what several stages share is sent in full; anything else
is a number or a key. Each stage is on a mesh of its own.
"""

import collections
import dataclasses
import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh

import meshwright as mw

STAGES, MICROBATCHES, WIDTH, ROWS = 3, 3, 32, 2
ACTIVATION = ROWS * WIDTH * 4  # In bytes, of one microbatch.
SMALL = 16  # Bytes of a number or a key, which may be sent.
WAYS = ("marks", "names", "auto")
ACTOR = "actor"  # A mesh without stages.
SPARE = "spare"  # A weight that no stage reads.
LAST = f"s{STAGES - 1}"
SQUARE = (WIDTH, WIDTH)
PLAIN = {"w": SQUARE, "b": (WIDTH,)}

Shapes = Mapping[str, tuple[int, ...]]


def topology() -> dict[str, Mesh]:
    devices = jax.devices()
    return {f"m{i}": Mesh(devices[i : i + 1], "x") for i in range(STAGES)}


# -- models -------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Model:
    """What the stages of a model compute.

    Attributes:
      layer: the output of a stage from its number, its weights and its input.
      shapes: of the weights of each stage.
      shared: of weights that both the first and the last stage read.
      fixed: of weights of each stage that are no part of the training state.
      loss: a number from the last output, all weights and all fixed ones.
      prepare: what the loss does to all weights at first.
      first_trained: the first stage that has gradients.
    """

    layer: Callable[[int, Mapping[str, jax.Array], jax.Array], jax.Array]
    shapes: Shapes = dataclasses.field(default_factory=lambda: PLAIN)
    shared: Shapes = dataclasses.field(default_factory=dict)
    fixed: Shapes = dataclasses.field(default_factory=dict)
    loss: Callable[..., jax.Array] = lambda x, params, fixed: (x**2).mean()
    prepare: Callable[[Any], Any] = lambda params: params
    first_trained: int = 0

    def sent_bytes(self) -> int:
        """What a step sends, but for numbers and keys."""
        borders = STAGES - 1 + STAGES - 1 - self.first_trained
        # The last stage gets the shared weight, and gives its gradient.
        shared = sum(2 * 4 * math.prod(shape) for shape in self.shared.values())
        return borders * MICROBATCHES * ACTIVATION + shared


def _plain(stage, w, x):
    return jnp.tanh(x @ w["w"] + w["b"])


def _twice(stage, w, x):
    return jnp.tanh(jnp.tanh(x @ w["w"]) @ w["w"].T + w["b"])


def _tied(stage, w, x):
    x = _plain(stage, w, x @ w["table"] if stage == 0 else x)
    return x @ w["table"].T if stage == STAGES - 1 else x


def _frozen(stage, w, x):
    return _plain(stage, w if stage else jax.lax.stop_gradient(w), x)


def _lora(stage, w, x):
    return jnp.tanh(x @ w["base"] + (x @ w["a"]) @ w["b"])


def _experts(stage, w, x):
    gates = jax.nn.softmax(x @ w["gate"])
    return jnp.einsum("re,edf,rd->rf", gates, w["experts"], jnp.tanh(x))


def _decay(x, params, fixed):
    return (x**2).mean() + 1e-3 * sum((w["w"] ** 2).sum() for w in params.values())


def _raveled(x, params, fixed):
    vector, _ = ravel_pytree(params)
    return (x**2).mean() + 1e-3 * jnp.linalg.norm(vector) + 1e-3 * (vector**2).mean()


def _varied(x, params, fixed):
    vector, _ = ravel_pytree(params)
    return (x**2).mean() + 1e-3 * vector.std() + 1e-3 * jnp.abs(vector).max()


def _anchored(x, params, fixed):
    moved = jax.tree.map(lambda w, start: ((w - start) ** 2).sum(), params, fixed)
    return (x**2).mean() + 1e-3 * sum(jax.tree.leaves(moved))


def _normalized(params):
    """All weights in one function each: a cast, a barrier, a vector and back."""
    cast = jax.jit(lambda tree: optax.tree.cast(tree, jnp.float16))(params)
    cast = jax.jit(lambda tree: optax.tree.cast(tree, jnp.float32))(cast)
    vector, unravel = ravel_pytree(jax.lax.optimization_barrier(cast))
    return unravel(vector * 0.5)


def _divided(params):
    """Each weight by the norm of all, which the first stage needs, too."""
    norm = optax.tree.norm(params)
    return jax.tree.map(lambda w: w / norm, params)


MODELS = {
    "plain": Model(_plain),
    "read twice": Model(_twice),
    "decay": Model(_plain, loss=_decay),
    "raveled": Model(_plain, loss=_raveled),
    "prepared": Model(_plain, prepare=_normalized),
    "varied": Model(_plain, loss=_varied),
    "divided": Model(_plain, prepare=_divided),
    "anchored": Model(_plain, fixed=PLAIN, loss=_anchored),
    "tied": Model(_tied, shared={"table": SQUARE}),
    "unused": Model(_plain, {**PLAIN, SPARE: SQUARE}),
    "frozen": Model(_frozen, first_trained=1),
    "lora": Model(_lora, {"a": (WIDTH, 8), "b": (8, WIDTH)}, fixed={"base": SQUARE}),
    "experts": Model(_experts, {"gate": (WIDTH, 2), "experts": (2, *SQUARE)}),
}


def _weights(shapes: Shapes, shared: Shapes) -> dict[str, Any]:
    draw = np.random.default_rng(0).standard_normal

    def make(shapes: Shapes) -> dict[str, Any]:
        scale = WIDTH**-0.5
        return {n: (draw(shape) * scale).astype("f") for n, shape in shapes.items()}

    weights = {f"s{i}": make(shapes) for i in range(STAGES)} if shapes else {}
    return {**weights, "shared": make(shared)} if shared else weights


def _forward(model: Model, way: str, params: Any, fixed: Any, x: jax.Array) -> Any:
    for i in range(STAGES):
        weights = {**fixed.get(f"s{i}", {}), **params[f"s{i}"]}
        if i in (0, STAGES - 1):
            weights |= params.get("shared", {})
        layer = functools.partial(model.layer, i)
        if way == "names":
            layer = mw.named_computation(layer, name=f"stage{i}")
        x = layer(weights, mw.stage_boundary(x) if way == "marks" and i else x)
    return x


# -- optimizers ---------------------------------------------------------------

contrib = optax.contrib
RATE = 1e-2


def _labels(params):
    """The last stage apart."""
    return {
        name: dict.fromkeys(leaves, "a" if name == LAST else "b")
        for name, leaves in params.items()
    }


def _words(text: str) -> list[str]:
    return text.split()


def _matrices(params):
    return jax.tree.map(lambda w: w.ndim > 1, params)


def _schedule(count):
    return RATE / (1 + count)


def _chain(*parts):
    return optax.chain(*parts, optax.scale(-RATE))


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    name: functools.partial(getattr(optax, name), RATE)
    for name in _words(
        "adabelief adadelta adagrad adam adamax adamaxw adamw adan amsgrad fromage "
        "lamb lars lion nadam nadamw novograd optimistic_adam_v2 "
        "optimistic_gradient_descent radam rmsprop rprop sgd sign_sgd signum sm3 yogi"
    )
}
OPTIMIZERS |= {
    name: functools.partial(getattr(contrib, name), RATE)
    for name in _words(
        "acprop ademamix adopt cocob dadapt_adamw dog dowg madgrad momo momo_adam muon "
        "prodigy schedule_free_adamw schedule_free_sgd simplified_ademamix"
    )
}
OPTIMIZERS |= {
    "noisy_sgd": lambda: optax.noisy_sgd(RATE, key=0),
    "adafactor": lambda: optax.adafactor(RATE, min_dim_size_to_factor=8),
    "polyak_sgd": lambda: optax.polyak_sgd(1.0),
    "lbfgs": lambda: optax.lbfgs(RATE, memory_size=3, linesearch=None),
    "sgd momentum": lambda: optax.sgd(RATE, momentum=0.9, nesterov=True),
    "adamw schedule": lambda: optax.adamw(_schedule),
    "adamw masked decay": lambda: optax.adamw(RATE, mask=_matrices),
    "centered rmsprop": lambda: optax.rmsprop(RATE, centered=True, momentum=0.9),
    "galore": lambda: optax.chain(contrib.scale_by_galore(4, 2), optax.scale(-RATE)),
    "adaptive_grad_clip": lambda: _chain(
        optax.adaptive_grad_clip(0.1), optax.scale_by_adam()
    ),
    "add_noise": lambda: _chain(optax.add_noise(0.1, 0.5, key=0)),
    "apply_every": lambda: _chain(optax.scale_by_adam(), optax.apply_every(2)),
    "apply_if_finite": lambda: optax.apply_if_finite(optax.adam(RATE), 3),
    "finite clipped muon": lambda: optax.apply_if_finite(
        optax.chain(contrib.muon(RATE), optax.clip_by_global_norm(1.0)), 3
    ),
    "finite lbfgs": lambda: optax.apply_if_finite(
        optax.lbfgs(RATE, memory_size=3, linesearch=None), 3
    ),
    "finite prodigy": lambda: optax.apply_if_finite(contrib.prodigy(), 3),
    "block_rms": lambda: _chain(optax.clip_by_block_rms(1.0), optax.scale_by_adam()),
    "centralize": lambda: _chain(optax.centralize(), optax.scale_by_adam()),
    "clip": lambda: _chain(optax.clip(1.0), optax.trace(0.9)),
    "clip_by_global_norm": lambda: optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(RATE)
    ),
    "conditionally_mask": lambda: optax.conditionally_mask(
        optax.adam(RATE), lambda step: step % 2 == 0
    ),
    "conditionally_transform": lambda: optax.conditionally_transform(
        optax.adam(RATE), lambda step: step % 2 == 0
    ),
    "ema": lambda: _chain(optax.scale_by_adam(), optax.ema(0.9)),
    "freeze": lambda: optax.chain(
        optax.adam(RATE),
        optax.transforms.freeze(_matrices),
    ),
    "inject_hyperparams": lambda: optax.inject_hyperparams(optax.adamw)(_schedule),
    "keep_params_nonnegative": lambda: optax.chain(
        optax.adam(RATE), optax.keep_params_nonnegative()
    ),
    "masked": lambda: optax.chain(
        optax.masked(optax.adam(RATE), _matrices), optax.scale(0.5)
    ),
    "mechanize": lambda: contrib.mechanize(optax.adam(RATE)),
    "MultiSteps": lambda: optax.MultiSteps(optax.adam(RATE), 2),
    "skip_large_updates": lambda: optax.MultiSteps(
        optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(RATE)),
        2,
        should_skip_update_fn=lambda updates, step, params: optax.skip_large_updates(
            updates, step, params, 1e4
        ),
    ),
    "multi_transform": lambda: optax.multi_transform(
        {"a": optax.adam(RATE), "b": optax.sgd(RATE)}, _labels
    ),
    "named_chain": lambda: optax.named_chain(
        ("adam", optax.scale_by_adam()), ("rate", optax.scale(-RATE))
    ),
    "normalize": lambda: optax.chain(contrib.normalize(), optax.adam(RATE)),
    "normalize_by_update_norm": lambda: _chain(
        optax.normalize_by_update_norm(), optax.scale_by_adam()
    ),
    "reduce_on_plateau": lambda: optax.chain(
        optax.adam(RATE), contrib.reduce_on_plateau()
    ),
    "sam": lambda: contrib.sam(
        optax.sgd(RATE), optax.chain(contrib.normalize(), optax.sgd(0.1)), 2
    ),
    "schedule_free": lambda: contrib.schedule_free(optax.sgd(RATE), RATE),
    "split_real_and_imaginary": lambda: contrib.split_real_and_imaginary(
        optax.adam(RATE)
    ),
    "trust_ratio": lambda: _chain(optax.scale_by_adam(), optax.scale_by_trust_ratio()),
    "zero_nans": lambda: optax.chain(optax.zero_nans(), optax.adam(RATE)),
}

# Optimizers that are given the value of the loss.
READ_THE_LOSS = ("momo", "momo_adam", "polyak_sgd", "reduce_on_plateau")


Rule = tuple[Callable[[Any], Any], Callable[..., Any]]  # The first state, the update.


def _by_optax(name: str) -> Rule:
    optimizer = OPTIMIZERS[name]()

    def update(params, state, grads, value, count):
        extra = {"value": value} if name in READ_THE_LOSS else {}
        updates, state = optimizer.update(grads, state, params, **extra)
        return optax.apply_updates(params, updates), state, ()

    return optimizer.init, update


# -- steps of language models -------------------------------------------------


def _norms(grads: Any) -> dict[str, Callable[[], jax.Array]]:
    leaves = jax.tree.leaves(grads)
    return {
        "stacked": lambda: jnp.linalg.norm(
            jnp.stack([jnp.linalg.norm(leaf) for leaf in leaves])
        ),
        "concatenated": lambda: jnp.linalg.norm(
            jnp.concatenate([leaf.ravel() for leaf in leaves])
        ),
        "raveled": lambda: jnp.linalg.norm(ravel_pytree(grads)[0]),
    }


def _language(kind: str) -> Rule:
    """Losses are summed over microbatches, gradients divided by the count of tokens."""
    optimizer = optax.adam(RATE)
    if kind in ("clipped", "count placed", "skipped"):
        optimizer = optax.chain(optax.clip_by_global_norm(1.0), optimizer)
    is_kept = kind in ("passed through", "where", "cond", "similar")

    def init(params):
        kept = {"kept": params} if is_kept else {}
        return {"optimizer": optimizer.init(params), **kept}

    def update(params, state, grads, value, count):
        grads = jax.tree.map(lambda g: g / count, grads)
        logs = []
        if kind == "logged":
            logs.append(optax.tree.norm(grads))
        if kind in (norms := _norms(grads)):
            norm = norms[kind]()
            grads = jax.tree.map(lambda g: g / jnp.maximum(norm, 1.0), grads)
        if kind == "barrier":
            grads = jax.lax.optimization_barrier(grads)
        if kind == "noisy":
            vector, unravel = ravel_pytree(grads)
            steps = state["optimizer"][0].count
            key = jax.random.fold_in(jax.random.key(0), steps)
            grads = unravel(vector + 1e-3 * jax.random.normal(key, vector.shape))
        if kind == "similar":
            both = [ravel_pytree(tree)[0] for tree in (grads, state["kept"])]
            likeness = jnp.vdot(*both) / jnp.linalg.norm(both[1])
            scaled = jax.tree.map(lambda g: g * likeness, grads)
            grads, state["kept"] = scaled, grads
        elif is_kept:
            grads = jax.tree.map(
                lambda g, w, kept: g + 0.01 * (w - kept), grads, params, state["kept"]
            )

        def updated(params, inner, grads):
            updates, inner = optimizer.update(grads, inner, params)
            return optax.apply_updates(params, updates), inner

        operands = params, state["optimizer"], grads
        if kind == "skipped":
            finite = jnp.isfinite(optax.tree.norm(grads))
            new, inner = jax.lax.cond(
                finite, updated, lambda *kept: kept[:2], *operands
            )
        else:
            new, inner = updated(*operands)
        state = {**state, "optimizer": inner}
        if kind == "where":
            state["kept"] = optax.tree.where(value > 1, new, state["kept"])
        if kind == "cond":
            state["kept"] = jax.lax.cond(
                value > 1,
                lambda new, kept: new,
                lambda new, kept: kept,
                new,
                state["kept"],
            )
        if kind == ACTOR:
            logs.append(new)
        return new, state, tuple(logs)

    return init, update


LANGUAGE = (
    "clipped",
    "logged",
    "stacked",
    "concatenated",
    "raveled",
    "count placed",
    "passed through",
    "where",
    "cond",
    "barrier",
    "noisy",
    "similar",
    "skipped",
    ACTOR,
)

# -- programs -----------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Program:
    """A training step; see `make`.

    Attributes:
      name: what it is made of.
      way: how its stages are given.
      tie_state: for `mw.jit`.
      step: the function of weights, fixed weights, state and batch.
      arguments: of it, the state as types alone.
      init: the first state for weights.
      config: for `mw.jit`.
      sent: what a step sends in bytes, but for what is small.
    """

    name: str
    way: str
    tie_state: bool
    step: Callable[..., Any]
    arguments: tuple[Any, ...]
    init: Callable[[Any], Any]
    config: mw.Config
    sent: int

    def lower(self) -> Any:
        jitted = mw.jit(self.step, self.config, tie_state=self.tie_state)
        return jitted.lower(*self.arguments)

    def values(self) -> tuple[Any, ...]:
        """Arguments with numbers."""
        params, fixed, _, batch = self.arguments
        return params, fixed, jax.jit(self.init)(params), batch


Choice = tuple[str, str, str, bool]


def choices() -> list[Choice]:
    """All models, optimizers, ways and ties, in an order of no system."""
    every = list(
        itertools.product(
            MODELS,
            [*OPTIMIZERS, *(f"lm {kind}" for kind in LANGUAGE)],
            WAYS,
            (False, True),
        )
    )
    random.Random(0).shuffle(every)
    return every


def make(model_name: str, optimizer: str, way: str, tie_state: bool) -> Program:
    """A program of names in MODELS, OPTIMIZERS (or `lm` and one in LANGUAGE), WAYS."""
    model = MODELS[model_name]
    params = _weights(model.shapes, model.shared)
    fixed = _weights(model.fixed, {})
    kind = optimizer.removeprefix("lm ")
    is_language = kind != optimizer
    init, update = (_language if is_language else _by_optax)(kind)
    state = jax.eval_shape(init, params)

    def loss(params, fixed, x):
        params = model.prepare(params)
        x = _forward(model, way, params, fixed, x)
        value = model.loss(x, params, fixed)
        return (value * x.size, (x > 0).sum()) if is_language else value

    def step(params, fixed, state, batch):
        value, grads = mw.pipeline.accumulate(
            jax.value_and_grad(loss, has_aux=is_language),
            MICROBATCHES,
            batch_argnums=2,
            reduce="sum" if is_language else "mean",
        )(params, fixed, batch)
        count = None
        if is_language:
            value, count = value[0], jnp.maximum(value[1].sum(), 1)
        new, state, logs = update(params, state, grads, value, count)
        return new, state, value, logs

    sent = model.sent_bytes()
    options: dict[str, Any] = {}
    meshes = topology()
    if kind == ACTOR and is_language:
        meshes[ACTOR] = Mesh(jax.devices()[STAGES : STAGES + 1], "x")
        options["output_mesh_assignment"] = (None, None, None, (ACTOR,))
        sent += sum(leaf.nbytes for leaf in jax.tree.leaves(params))
    if kind == "count placed" and is_language:
        count = jax.tree.map(lambda leaf: None if leaf.ndim else "m1", state)
        options["input_mesh_assignment"] = (None, None, count, None)
    schedule = mw.get_pipeline_schedule("1F1B")
    arguments = params, fixed, state, np.ones((MICROBATCHES * ROWS, WIDTH), np.float32)
    config = _config(way, meshes, pipeline_schedule=schedule, **options)
    name = f"{model_name}, {optimizer}, {way}{', tied' if tie_state else ''}"
    return Program(name, way, tie_state, step, arguments, init, config, sent)


def _config(way: str, meshes: Mapping[str, Mesh], **options: Any) -> mw.Config:
    if way == "auto":
        config = mw.auto_config(
            {name: mesh for name, mesh in meshes.items() if name != ACTOR},
            pipeline_schedule=options.pop("pipeline_schedule"),
        )
        return dataclasses.replace(config, topology=meshes, **options)
    if way == "marks":
        return mw.make_config(
            meshes, stage_to_mesh=[f"m{i}" for i in range(STAGES)], **options
        )
    inferred = {"mpmd_infer_transfers": True, "mpmd_infer_cross_mesh_reductions": True}
    return mw.make_config(
        meshes,
        {f"stage{i}": f"m{i}" for i in range(STAGES)},
        name_to_stage_assignment={f"stage{i}": i for i in range(STAGES)},
        partitioning_options=inferred,
        **options,
    )


# -- what is expected ---------------------------------------------------------

Path = tuple[str, ...]


def _by_path(tree: Any) -> dict[Path, Any]:
    def text(key: Any) -> str:
        return str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))

    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {tuple(map(text, path)): leaf for path, leaf in leaves}


def _owner(path: Path, weights: Mapping[Path, Any]) -> Path | None:
    """The weight that a leaf of the state belongs to."""
    for size in {len(weight) for weight in weights}:
        for at in range(len(path) - size, -1, -1):
            if path[at : at + size] in weights:
                return path[at : at + size]
    return None


def _nbytes(leaf: Any) -> int:
    return math.prod(leaf.shape) * leaf.dtype.itemsize


def misplaced(program: Program, lowered: Any) -> list[str]:
    """What is not where it belongs, and what is sent that need not be."""
    assigned = lowered.function_mesh_assignment
    params, fixed, state, _ = map(_by_path, program.arguments)
    inputs = [_by_path(tree) for tree in assigned.input_meshes]
    outputs = [_by_path(tree) for tree in assigned.output_meshes]
    wrong = list(_strays("weight", inputs[0], params, _homes(program, inputs[0])))
    # A weight that stages share, or none reads, may be on any of several meshes, and
    # all that belongs to it is with it.
    homes = {path: {mesh} for path, mesh in inputs[0].items()}
    wrong += _strays("new weight", outputs[0], params, homes)
    wrong += _strays("fixed weight", inputs[1], fixed, homes)
    wrong += _strays("state", inputs[2], state, homes)
    wrong += _strays("new state", outputs[1], state, homes)
    items = lowered.partitioning_result.program["items"]
    sent = collections.Counter(
        (item["from"], item["to"], item["bytes"])
        for item in items
        if item["kind"] == "transfer" and item["bytes"] > SMALL
    )
    total = sum(size * times for (*_, size), times in sent.items())
    # What no stage reads may be where it is read, and is not sent there.
    wanted = program.sent - sum(
        _nbytes(params[path])
        for path, mesh in inputs[0].items()
        if path[-1] == SPARE and mesh == ACTOR
    )
    # A cut by cost may be elsewhere than between two layers of a model.
    if total > wanted or (total < wanted and program.way != "auto"):
        listed = ", ".join(
            f"{n} times {size} from {a} to {b}"
            for (a, b, size), n in sorted(sent.items())
        )
        wrong.append(f"sends {total} bytes, not {wanted}: {listed}")
    return wrong


def _homes(program: Program, found: Mapping[Path, str]) -> dict[Path, set[str]]:
    """Meshes on which each weight may be."""
    homes = {}
    for path, mesh in found.items():
        if program.way == "auto" or path[-1] == SPARE:
            homes[path] = {mesh}
        elif path[0] == "shared":
            homes[path] = {"m0", f"m{STAGES - 1}"}
        else:
            homes[path] = {"m" + path[0][1:]}
    return homes


def _strays(
    what: str,
    found: Mapping[Path, str],
    leaves: Mapping[Path, Any],
    homes: Mapping[Path, set[str]],
) -> Iterator[str]:
    for path, mesh in found.items():
        owner = _owner(path, homes)
        size = _nbytes(leaves[path])
        if owner is None or size <= SMALL or mesh in homes[owner]:
            continue
        wanted = " or ".join(sorted(homes[owner]))
        yield f"{what} {'/'.join(path)} of {size} bytes on {mesh}, not {wanted}"
