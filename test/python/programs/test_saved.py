"""Programs in folders: saved by one process, run by another; and who is refused."""

import gc
import json
import os
import pathlib
import subprocess
import sys
from hashlib import sha256

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from meshwright.core.contents import ContentsError
from meshwright.jaxapi import frontend as compat
from support.described_cpus import Compiler, describe
from support.launching import environment

import meshwright as mw

COMPILED = "backend_compile_duration"
_compiled: list[str] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **__: _compiled.append(event) if event.endswith(COMPILED) else None
)
TABLE = np.linspace(-1, 1, 4096, dtype=np.float32).reshape(64, 64)


def make_meshes(first: int = 0, devices=None) -> dict[str, Mesh]:
    devices = np.array(devices or jax.devices()[first : first + 4])
    return {f"m{i}": Mesh(devices[2 * i : 2 * i + 2], ("x",)) for i in range(2)}


def step(state, x, key):
    params, moments = state

    def loss(params):
        shifted = mw.named_computation(
            lambda w, x: jnp.tanh(x @ w + TABLE[:8, :16]), name="first"
        )(params["first"], x)
        return mw.named_computation(lambda w, h: ((h @ w) ** 2).mean(), name="second")(
            params["second"], shifted
        )

    value, gradient = jax.value_and_grad(loss)(params)
    updates, moments = optax.adam(1e-2).update(gradient, moments, params)
    state = optax.apply_updates(params, updates), moments
    return state, {"loss": value, "table": TABLE, "key": jax.random.split(key)[0]}


def arguments():
    params = {name: np.eye(16, dtype=np.float32) * 0.1 for name in ("first", "second")}
    state = params, optax.adam(1e-2).init(params)
    return state, np.ones((8, 16), np.float32), jax.random.key(3)


def lower(meshes):
    config = mw.make_config(meshes, {"first": "m0", "second": "m1"})
    return mw.jit(step, config, donate_argnums=0).lower(*arguments())


@pytest.fixture(scope="module")
def compiled():
    return lower(make_meshes()).compile({"m0": {"xla_backend_optimization_level": 1}})


@pytest.fixture(scope="module")
def folder(compiled, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "program"
    compiled.save(folder)
    return folder


@pytest.fixture
def copied(folder, tmp_path):
    """A folder to spoil."""
    subprocess.run(["cp", "-r", folder, tmp_path / "program"], check=True)
    return tmp_path / "program"


def plain(tree):
    def numbers(leaf):
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if is_key else leaf)

    return jax.tree.map(numbers, tree)


def assert_equal(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    jax.tree.map(np.testing.assert_array_equal, plain(found), plain(wanted))


def run(program):
    given = program.place(*arguments())
    result = program(*given)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(given[0]))
    return result


def test_a_loaded_program_is_the_one_that_was_saved(compiled, folder):
    given = arguments()
    _compiled.clear()
    loaded = mw.load(folder, make_meshes(4))
    placed = loaded.place(*given)
    result = loaded(*placed)
    jax.block_until_ready(result)
    assert not _compiled
    assert_equal(result, run(compiled))
    state, found = result
    assert found["loss"].devices() == set(jax.devices()[6:8])
    assert state[0]["first"].devices() == set(jax.devices()[4:6])
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(placed[0]))
    assert loaded.memory_analysis() == compiled.memory_analysis()
    assert loaded.traffic() == compiled.traffic()
    assert loaded.as_text("mpmd") == compiled.as_text("mpmd")
    assert str(loaded.args_info) == str(compiled.args_info)
    assert str(loaded.in_avals) == str(compiled.in_avals)
    paths = [p.mpmd_executable.signature.input_paths for p in (loaded, compiled)]
    assert paths[0] == paths[1]


def test_a_loaded_program_is_saved_again(folder, tmp_path):
    mw.load(folder, make_meshes()).save(tmp_path / "again")
    again = mw.load(tmp_path / "again", make_meshes(2))
    assert_equal(run(again), run(mw.load(folder, make_meshes())))


IN_ANOTHER = """
import json, sys
import jax, numpy as np, optax
import meshwright as mw

compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **__: compiled.append(event) if "_compile_" in event else None
)
devices = np.array(jax.devices()).reshape(3, 2)
meshes = {f"m{i}": jax.sharding.Mesh(devices[2 - i], "x") for i in (0, 1)}
program = mw.load(sys.argv[1], meshes)
params = {n: np.eye(16, dtype=np.float32) * 0.1 for n in ("first", "second")}
moments = jax.tree.map(np.zeros_like, (params, params))
count = np.zeros((), np.int32)
state = optax.ScaleByAdamState(count, *moments), optax.EmptyState()
key = jax.random.wrap_key_data(np.array([0, 3], np.uint32))
compiled.clear()
given = program.place((params, state), np.ones((8, 16), np.float32), key)
losses = []
for _ in range(3):
    state, found = program(*given)
    given = state, given[1], program.place(found["key"])
    losses.append(float(found["loss"]))
print(json.dumps({"compiled": compiled, "losses": losses}))
"""


def test_another_process_runs_it_without_a_compiler(compiled, folder):
    """On other devices, of which it has another number."""
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER, str(folder)],
        env=environment(JAX_NUM_CPU_DEVICES="6"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    given, losses = compiled.place(*arguments()), []
    for _ in range(3):
        state, result = compiled(*given)
        given = state, given[1], compiled.place(result["key"])
        losses.append(float(result["loss"]))
    assert found == {"compiled": [], "losses": losses}
    assert losses[2] < losses[0]


def test_what_came_from_the_cache_is_saved_whole(monkeypatch, tmp_path):
    """XLA's executables for CPUs do not give their code once they are loaded."""
    monkeypatch.setenv("MESHWRIGHT_CACHE_DIR", str(tmp_path / "cache"))

    def compile():
        body = mw.named_computation(lambda x: jnp.tanh(x) + 3, name="first")
        config = mw.make_config(make_meshes(), {"first": "m0"})
        return mw.jit(body, config).lower(np.ones(8, np.float32)).compile()

    wanted = compile()
    value = wanted(wanted.place(np.ones(8, np.float32)))
    del wanted
    gc.collect()
    cached = compile()
    (fragment,) = cached.mpmd_executable.runtime_executable().fragments
    assert fragment.from_cache
    cached.save(tmp_path / "program")
    loaded = mw.load(tmp_path / "program", make_meshes(2))
    assert_equal(loaded(loaded.place(np.ones(8, np.float32))), value)


def test_what_was_compiled_for_descriptions_runs_here(monkeypatch, tmp_path):
    Compiler(monkeypatch)
    described = lower(make_meshes(devices=describe(4))).compile()
    described.save(tmp_path)
    monkeypatch.undo()
    _compiled.clear()
    loaded = mw.load(tmp_path, make_meshes(2))
    assert not _compiled
    assert_equal(run(loaded), run(lower(make_meshes(2)).compile()))


def test_options_are_those_it_was_compiled_with(compiled, folder):
    loaded = mw.load(folder, make_meshes())
    assert loaded.mpmd_executable.runtime_executable().options == {
        "m0": {"xla_backend_optimization_level": 1},
        "m1": {},
    }
    mesh = make_meshes()["m0"]
    program = mw.jit(lambda x: x + 1, mw.make_config({"m0": mesh}, {})).lower(1.0)
    odd = program.compile()
    odd.mpmd_executable.runtime_executable().options["m0"]["x"] = object()
    with pytest.raises(mw.ProgramError, match="option 'x' of mesh 'm0' .* cannot be"):
        odd.save(folder.parent / "odd")


# What is refused.


def change(folder: pathlib.Path, edit) -> None:
    """Changes what the index says, as another release might have written it."""
    index = json.loads((folder / "compiled.json").read_text())
    edit(index["body"])
    index["digest"] = sha256(json.dumps(index["body"]).encode()).hexdigest()
    (folder / "compiled.json").write_text(json.dumps(index))


def put(*keys_and_value):
    *keys, last, value = keys_and_value

    def edit(body):
        for key in keys:
            body = body[key]
        body[last] = value

    return edit


REFUSED = {
    "meshwright": (
        put("surroundings", "versions", "meshwright", "0.0.1"),
        "saved with meshwright 0.0.1, and this is meshwright .*; save it again",
    ),
    "jaxlib": (
        put("surroundings", "versions", "jaxlib", "0.9.9"),
        "saved with jaxlib 0.9.9, and this is jaxlib 0",
    ),
    "platform": (
        put("meshes", "m1", "platform", "tpu"),
        "mesh 'm1' was saved for devices of platform 'tpu', and has 'cpu' here",
    ),
    "kind": (
        put("meshes", "m1", "kind", "TPU v5"),
        "mesh 'm1' was saved for devices of kind 'TPU v5', and has 'cpu' here",
    ),
    "processes": (
        put("meshes", "m0", "processes", [0, 1]),
        "mesh 'm0' was saved for devices of 2 processes, and has those of one process",
    ),
    "torus": (
        put("meshes", "m0", "torus", "[[0, 0, 0], [1, 0, 0]]"),
        "arranged otherwise in their slice",
    ),
    "cpu": (
        put("surroundings", "cpu", ["x86_64", "amx_fp256"]),
        "host whose CPU has features that this one lacks, .*amx_fp256",
    ),
    "structure": (
        put("signature", "output_tree", ["flix.struct:Model", None, []]),
        "flix.struct.Model is not known here; import 'flix.struct' first",
    ),
    "element type": (put("signature", "input_avals", 0, 1, "f99"), "no type of ele"),
    "missing key": (lambda body: body.pop("io"), "holds no whole program: KeyError"),
    "a file elsewhere": (
        put("schedule", "../../../etc/passwd"),
        "'../../../etc/passwd' is no name of a file",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_something_else_made_is_refused_in_a_sentence(case, copied):
    edit, words = REFUSED[case]
    change(copied, edit)
    with pytest.raises((ContentsError, mw.ProgramError), match=words):
        mw.load(copied, make_meshes())


def test_flags_and_settings_count(copied, folder, monkeypatch):
    flags = os.environ.get("XLA_FLAGS", "")
    monkeypatch.setenv("XLA_FLAGS", f"{flags} --xla_dump_max_hlo_modules=7")
    mw.load(folder, make_meshes())  # Code does not depend on it.
    with jax.disable_jit(False):
        jax.config.update("jax_exec_time_optimization_effort", 0.5)
        try:
            with pytest.raises(
                mw.ProgramError,
                match="jax_exec_time_optimization_effort was 0.0 where the program was "
                "saved, and is 0.5 here",
            ):
                mw.load(folder, make_meshes())
        finally:
            jax.config.update("jax_exec_time_optimization_effort", 0.0)

    def edit(body):
        body["surroundings"]["flags"]["XLA_FLAGS"] = "--xla_cpu_enable_fast_math=true"
        for entry in body["executables"]:
            entry["options"] = "0" * 64

    change(copied, edit)
    with pytest.raises(
        mw.ProgramError,
        match="XLA_FLAGS was --xla_cpu_enable_fast_math=true .* here; start with the",
    ):
        mw.load(copied, make_meshes())


def test_meshes_have_to_be_those_of_the_program(folder):
    meshes = make_meshes()
    with pytest.raises(mw.ProgramError, match="mesh 'm1', which was not given"):
        mw.load(folder, {"m0": meshes["m0"]})
    wide = {name: Mesh(np.array(jax.devices()[:4]), ("x",)) for name in meshes}
    with pytest.raises(mw.ProgramError, match="has axes .*'x': 4.* partitioned for"):
        mw.load(folder, wide)
    with pytest.raises(
        mw.ProgramError,
        match="not here, and a saved program is loaded to run.*jax.devices",
    ):
        mw.load(folder, make_meshes(devices=describe(4)))
    with pytest.raises(TypeError, match=r"mesh 'm0' is 1; expected a jax.sharding.Me"):
        mw.load(folder, {"m0": 1, "m1": 1})


def first_file(folder):
    return sorted((folder / "files").iterdir())[0]


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def change_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


DAMAGE = {"cut off": cut, "changed": change_a_byte, "pipe": make_pipe}
DAMAGE["missing"] = pathlib.Path.unlink


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("place", ["index", "file"])
def test_a_damaged_folder_is_refused(damage, place, copied):
    DAMAGE[damage](copied / "compiled.json" if place == "index" else first_file(copied))
    with pytest.raises(ContentsError, match="holds no (whole )?program: "):
        mw.load(copied, make_meshes())


def test_a_folder_that_is_none_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ContentsError, match="has no compiled.json, which is wri"):
            mw.load(path, make_meshes())
    (tmp_path / "compiled.json").write_text('{"format": "x", "body": 1, "digest": ""}')
    with pytest.raises(ContentsError, match="is 'x', expected 'meshwright-compiled-"):
        mw.load(tmp_path, make_meshes())


def test_what_others_wrote_is_not_replaced(compiled, copied, monkeypatch):
    (copied / "notes.txt").write_text("mine")
    with pytest.raises(ContentsError, match="notes.txt was not written by meshwright"):
        compiled.save(copied)
    (copied / "notes.txt").unlink()
    (copied / "files" / "x").write_text("mine")
    with pytest.raises(ContentsError, match="x was not written by meshwright"):
        compiled.save(copied)
    (copied / "files" / "x").unlink()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ContentsError, match="program belongs to another user"):
        compiled.save(copied)
    mw.load(copied, make_meshes())


def test_a_program_is_replaced_whole(compiled, copied):
    before = {path.name for path in (copied / "files").iterdir()}
    unfinished = f".{'0' * 64}.{'1' * 16}.tmp"
    (copied / "files" / unfinished).write_text("of a process that was killed")
    mesh = make_meshes()["m0"]
    other = mw.jit(lambda x: x + 1, mw.make_config({"m0": mesh}, {})).lower(1.0)
    other.compile().save(copied)
    assert not before & {path.name for path in (copied / "files").iterdir()}
    assert not (copied / "files" / unfinished).exists()
    loaded = mw.load(copied, {"m0": mesh})
    assert loaded(loaded.place(1.0)) == 2


def test_permissions_are_those_of_the_umask(compiled, tmp_path):
    before = os.umask(0o027)
    try:
        compiled.save(tmp_path / "program")
    finally:
        os.umask(before)
    written = list((tmp_path / "program").rglob("*"))
    assert any(path.is_dir() for path in written)
    for path in written:
        assert path.stat().st_mode & 0o777 == (0o750 if path.is_dir() else 0o640)


# What is in programs.


def save_and_load(function, *args, tmp_path, names=("first", "second"), **options):
    meshes = make_meshes()
    assignment = dict(zip(names, meshes, strict=False))
    config = mw.make_config(meshes, assignment)
    compiled = mw.jit(function, config, **options).lower(*args).compile()
    compiled.save(tmp_path / "program")
    return compiled, mw.load(tmp_path / "program", make_meshes(4))


def test_processes_agree_on_constants(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    large = rng.standard_normal((512, 512), dtype=np.float32)

    def function(x):
        first = mw.named_computation(lambda x: jnp.tanh(x @ large), name="first")
        return mw.named_computation(jnp.sum, name="second")(first(x))

    save_and_load(function, np.ones((2, 512), np.float32), tmp_path=tmp_path)
    given = []

    def load(schedule, *_, **__):
        given.append(schedule.constants)
        raise RuntimeError("not loaded")

    monkeypatch.setattr(jax, "process_count", lambda: 2)
    monkeypatch.setattr("meshwright.programs.loading.load_program", load)
    with pytest.raises(RuntimeError, match="not loaded"):
        mw.load(tmp_path / "program", make_meshes())
    assert given == [[compat.digest_of(large)]]


def test_fragments_that_call_python_are_refused(tmp_path):
    def talks(x):
        def body(x):
            jax.debug.print("{}", x)
            return x + 1

        return mw.named_computation(body, name="first")(x)

    with pytest.raises(
        mw.ProgramError, match=r'from first.* on mesh "m0" calls Python functions'
    ):
        save_and_load(talks, jnp.ones(4), tmp_path=tmp_path)
    assert not (tmp_path / "program").exists()


def test_host_memory_stays_host_memory(tmp_path):
    meshes = make_meshes()
    config = mw.make_config(
        meshes,
        {"first": "m0", "second": "m1"},
        input_mesh_assignment=("m0#pinned_host", "m0"),
        output_mesh_assignment="m1#pinned_host",
    )

    def offloaded(w, x):
        w = jax.device_put(w, jax.memory.Space.Device)
        x = mw.named_computation(lambda w, x: x @ w, name="first")(w, x)
        x = mw.named_computation(jnp.tanh, name="second")(x)
        return jax.device_put(x, jax.memory.Space.Host)

    args = np.eye(8, dtype=np.float32), np.ones((8, 8), np.float32)
    compiled = mw.jit(offloaded, config).lower(*args).compile()
    compiled.save(tmp_path)
    loaded = mw.load(tmp_path, make_meshes(4))
    (weight, _), _ = loaded.input_shardings
    assert weight.memory_kind == "pinned_host"
    result = loaded(*loaded.place(*args))
    assert result.sharding.memory_kind == "pinned_host"
    assert_equal(result, compiled(*compiled.place(*args)))


def test_stacked_layers_are_one_array(tmp_path):
    def loss(w, x):
        h = mw.pipeline.scan(lambda h, w: jnp.tanh(h @ w), x, w, num_stages=2)
        return (h**2).mean()

    def step(w, x):
        value, grad = jax.value_and_grad(loss)(w, x)
        return w - 0.1 * grad, value

    meshes = make_meshes()
    config = mw.make_config(meshes)
    args = np.ones((4, 8, 8), np.float32) / 8, np.ones((4, 8), np.float32)
    compiled = mw.jit(step, config, donate_argnums=0).lower(*args).compile()
    compiled.save(tmp_path)
    loaded = mw.load(tmp_path, make_meshes(4))
    (w, _), _ = loaded.input_shardings
    assert len(w.device_set) == 4
    result = loaded(*loaded.place(*args))
    assert result[0].sharding.device_set == set(jax.devices()[4:8])
    assert_equal(result, compiled(*compiled.place(*args)))
    shared = dict.fromkeys(meshes, meshes["m0"])
    with pytest.raises(mw.ProgramError, match="an array of stacked layers is over"):
        mw.load(tmp_path, shared)


def test_keyword_arguments_and_unused_ones(tmp_path):
    def pick(x, *, scale, unused=None):
        return mw.named_computation(lambda x, s: x * s, name="first")(x, scale)

    meshes = make_meshes()
    config = mw.make_config(meshes, {"first": "m0"})
    x, scale = jnp.arange(4.0), jnp.float32(2)
    compiled = mw.jit(pick, config).lower(x, scale=scale, unused=jnp.int8(1)).compile()
    compiled.save(tmp_path)
    loaded = mw.load(tmp_path, meshes)
    given = {"scale": scale, "unused": jnp.int8(1)}
    given = jax.device_put(given, loaded.input_shardings[1])
    assert_equal(loaded(loaded.place(x), **given), x * 2)
    with pytest.raises(TypeError, match="keyword arguments scale, unused, but"):
        loaded(x, scale=scale)


def test_numbers_of_64_bits_need_the_setting(tmp_path):
    meshes, before = make_meshes(), jax.config.jax_enable_x64
    try:
        jax.config.update("jax_enable_x64", True)
        body = mw.named_computation(lambda x: x * 2, name="first")
        config = mw.make_config(meshes, {"first": "m0"})
        mw.jit(body, config).lower(np.ones(4)).compile().save(tmp_path)
        loaded = mw.load(tmp_path, meshes)
        assert loaded(loaded.place(np.ones(4))).dtype == np.float64
        jax.config.update("jax_enable_x64", False)
        with pytest.raises(mw.ProgramError, match="jax_enable_x64 for float64.4., whi"):
            mw.load(tmp_path, meshes)
    finally:
        jax.config.update("jax_enable_x64", before)


def test_small_types_and_specs(tmp_path):
    sharding = jax.sharding.NamedSharding(make_meshes()["m0"], P("x"))
    x = jax.device_put(jnp.arange(8, dtype=jnp.bfloat16), sharding)
    flags = jnp.array([True, False])

    def both(x, flags):
        body = lambda x, f: (x.astype(jnp.float8_e4m3fn), f[0], jnp.int4(3))  # noqa: E731
        return mw.named_computation(body, name="first")(x, flags)

    compiled, loaded = save_and_load(both, x, flags, tmp_path=tmp_path)
    (where, _), _ = loaded.input_shardings
    assert where.spec == P("x")
    given = loaded.place(np.asarray(x), flags)
    found = loaded(*given)
    assert [leaf.dtype.name for leaf in found] == ["float8_e4m3fn", "bool", "int4"]
    assert_equal(found, compiled(x, compiled.place(x, flags)[1]))
