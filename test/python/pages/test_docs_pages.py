"""Blocks of code on the pages run, and show what they print or raise.

Pages with tests of their own: README.md, and those of TESTED_ELSEWHERE.
"""

import functools
import inspect
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import threading
import types
import unittest.mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meshwright.elastic import preemption
from support.tools import ROOT

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
# Every block of code on these pages is run below; a new page has to be added.
TESTED_ELSEWHERE = {
    "draw.md",
    "export.md",
    "python.md",
    "recipes.md",
    "migrating.md",
    "schedules.md",
    "simulate.md",
    "plan.md",
    "cost-model.md",
    "hardware.md",
    "other-compilers.md",
}
TESTED_ELSEWHERE |= {"developing/inspecting.md", "developing/reducing.md"}
SESSIONS = ("tutorial/index.md", "faq.md")
CODE = {"python", "json", "sh"}


def blocks(page: str, language: str) -> list[str]:
    found = BLOCK.findall((DOCS / page).read_text())
    return [code for name, code in found if name == language]


def matches(shown: str, said: str) -> bool:
    """Whether a message is what a page shows, where an ellipsis is anything."""
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("…"))
    return re.fullmatch(pattern, said.strip(), re.S) is not None


@pytest.fixture
def environ():
    """Of this process: what a test sets ends with it."""
    jax.devices()  # XLA reads its flags once, and shall have those of all tests.
    with unittest.mock.patch.dict(os.environ):
        yield os.environ


@pytest.mark.parametrize("page", SESSIONS)
def test_page_is_a_session(page, capsys, environ):
    found = BLOCK.findall((DOCS / page).read_text())
    names: dict = {}
    ran = 0
    for (language, code), (after, shown) in zip(
        found, [*found[1:], ("", "")], strict=True
    ):
        if language != "python":
            continue
        kind = re.match(r"(\w+Error): ", shown)
        if after == "" and kind:
            with pytest.raises(Exception) as raised:
                exec(compile(code, page, "exec"), names)
            said = f"{type(raised.value).__name__}: {raised.value}"
            assert matches(shown, said), said
        else:
            exec(compile(code, page, "exec"), names)
            printed = capsys.readouterr().out
            assert printed == (shown if after == "" and printed else "")
        ran += 1
    assert ran >= 4


def test_every_page_with_code_is_tested():
    known = TESTED_ELSEWHERE | set(SESSIONS) | {"runtime.md", "distributed.md"}
    known |= {"config.md", "import.md", "erase.md", "sharding.md"}
    known |= {"developing/testing.md"}
    known |= {"saved.md", "install.md", "editors.md", "clusters.md", "traffic.md"}
    for path in DOCS.rglob("*.md"):
        page = str(path.relative_to(DOCS))
        if page.startswith("reference/"):
            continue
        languages = {language for language, _ in BLOCK.findall(path.read_text())}
        assert page in known or not languages & CODE, f"{page}: run its code here"


def make_program():
    devices = jax.devices("cpu")
    meshes = {
        "m0": jax.sharding.Mesh(devices[:2], ("x",)),
        "m1": jax.sharding.Mesh(devices[2:4], ("x",)),
    }

    def train_step(state, batch):
        hidden = mw.named_computation(lambda w, x: x @ w, name="enc")(state, batch)
        loss = mw.named_computation(lambda h: h.sum(), name="dec")(hidden)
        return state, loss

    config = mw.make_config(meshes, {"enc": "m0", "dec": "m1"})
    return {
        "train_step": train_step,
        "config": config,
        "state": jnp.ones((4, 4)),
        "batch": jnp.ones((2, 4)),
    }


def test_runtime_page_runs(tools, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    step, files, _ = blocks("runtime.md", "python")
    names = make_program()
    exec(compile(step, "docs/runtime.md", "exec"), names)
    assert float(names["loss"]) == 32.0
    assert json.loads((tmp_path / "step.trace.json").read_text())

    program, config = DOCS / "first.mlir", DOCS / "first.json"
    tools.check("meshwright", "partition", program, "--config", config, "-o", "out")
    topology = json.loads(config.read_text())["topology"]
    free = iter(jax.devices("cpu"))
    names = {"meshwright": mw, "arrays": []}
    names["meshes"] = {
        mesh: jax.make_mesh(
            tuple(axes.values()),
            tuple(axes),
            devices=[next(free) for _ in range(jnp.prod(jnp.array([*axes.values()])))],
        )
        for mesh, axes in topology.items()
    }
    load, call = files.rsplit("\n", 2)[0], files.rsplit("\n", 2)[1]
    exec(compile(load, "docs/runtime.md", "exec"), names)
    executor = names["program"]
    schedule = names["schedule"]
    types = [schedule["values"][entry["value"]] for entry in schedule["inputs"]]
    names["arrays"] = [
        jax.device_put(jnp.ones(value["shape"]), sharding)
        for value, sharding in zip(types, executor.input_shardings, strict=True)
    ]
    exec(compile(call, "docs/runtime.md", "exec"), names)
    assert len(names["outputs"]) == len(executor.output_shardings)


def test_traffic_page_runs(capsys):
    (code,) = blocks("traffic.md", "python")
    names = make_program()
    names["step"] = mw.jit(names["train_step"], names["config"])
    exec(compile(code, "docs/traffic.md", "exec"), names)
    table = capsys.readouterr().out
    assert re.search(r"^m0 -> m1 +transfer", table, re.M)
    assert names["compiled"].traffic().edges[0].bytes > 0


def test_saved_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save, load = blocks("saved.md", "python")
    names: dict = {}
    exec(compile(save, "docs/saved.md", "exec"), names)
    assert sorted(path.name for path in (tmp_path / "program").iterdir()) == [
        "compiled.json",
        "files",
    ]
    given = {name: names[name] for name in ("mw", "meshes", "params", "x")}
    exec(compile(load, "docs/saved.md", "exec"), given)
    wanted = (jnp.tanh(names["x"]) ** 2).mean()
    np.testing.assert_allclose(given["loss"], wanted, rtol=1e-6)


def test_distributed_page_runs(tmp_path):
    script = blocks("distributed.md", "python")[0]
    (tmp_path / "train.py").write_text(script)
    command = shlex.split(blocks("distributed.md", "sh")[0])
    assert command[0] == "python"
    done = subprocess.run(
        [sys.executable, *command[1:]],
        cwd=tmp_path,
        env={
            **{k: v for k, v in os.environ.items() if k != "JAX_NUM_CPU_DEVICES"},
            "PYTHONPATH": os.pathsep.join(sys.path),
            "JAX_PLATFORMS": "cpu",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = [line.partition("] ")[::2] for line in done.stdout.splitlines()]
    first, second = ([v for n, v in found if n == f"[{me}"] for me in range(2))
    assert len(first) == 3
    assert first == second
    assert float(first[0]) > float(first[1]) > float(first[2])


def test_checkpoints_of_the_distributed_page_are_written(tmp_path):
    names = {"path": tmp_path / "checkpoint", "state": {"w": jnp.ones(3)}}
    (code,) = [x for x in blocks("distributed.md", "python") if "orbax" in x]
    exec(compile(code, "distributed.md", "exec"), names)
    assert names["path"].is_dir()


def test_what_the_distributed_page_does_when_something_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("MESHWRIGHT_COPIES", str(tmp_path))
    monkeypatch.setattr(preemption, "_noticed", threading.Event())
    found = blocks("distributed.md", "python")
    (asked,) = [code for code in found if "preempted" in code]
    copied, recovering = (code for code in found if "Copies" in code)
    saved, steps = [], []

    def compiled(state, step):
        steps.append(step)
        if asking and step == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return state + 1, state

    names = {"mw": mw, "sys": sys, "first": 0, "steps": 4, "state": jnp.zeros(2)}
    names |= {"compiled": compiled, "batch": lambda step: (step,)}
    names |= {"save": lambda *given: saved.append(given)}
    handler, asking = signal.getsignal(signal.SIGTERM), True
    try:
        with pytest.raises(SystemExit) as end:
            exec(asked, names)
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert end.value.code == mw.elastic.PREEMPTED
    assert steps == [0, 1]
    assert saved[0][0] == 1
    asking, names["restore_from_disk"] = False, lambda: (jnp.zeros(2), 0)
    exec(copied, names)
    names["copies"]._queue.put(None)
    names["copies"]._writer.join()
    exec(copied, names)
    assert steps[2:] == [0, 1, 2, 3, 1, 2, 3]
    assert names["state"].tolist() == [4.0, 4.0]

    class Compiled:
        input_shardings = ((jax.sharding.SingleDeviceSharding(jax.devices()[0]),),)
        __call__ = staticmethod(compiled)

    given = {}
    monkeypatch.setattr(mw.distributed, "initialize", given.update)
    names |= {"initial_state": jnp.zeros(2), "compile_for": lambda left: Compiled()}
    exec(recovering, names)
    assert given == {"recoverable": True}
    assert steps[9:] == [1, 2, 3]
    assert names["loss"].tolist() == [3.0, 3.0]


def test_pods_of_the_clusters_page_find_the_first_one(monkeypatch):
    yaml = pytest.importorskip("yaml")
    (text,) = blocks("clusters.md", "yaml")
    jobs = yaml.safe_load(text)
    (worker,) = jobs["spec"]["replicatedJobs"]
    job = worker["template"]["spec"]
    (container,) = job["template"]["spec"]["containers"]
    for variable in container["env"]:
        monkeypatch.setenv(variable["name"], variable["value"])
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "2")
    joined = []
    monkeypatch.setattr(mw.distributed, "initialize", lambda *args: joined.append(args))
    exec(blocks("clusters.md", "python")[0], {})
    name, port = jobs["metadata"]["name"], container["ports"][0]["containerPort"]
    first = f"{name}-{worker['name']}-0-0.{name}:{port}"
    assert joined == [(first, job["completions"], 2)]
    assert job["completionMode"] == "Indexed"
    assert job["parallelism"] == job["completions"]


class Actors:
    """As much of Ray as the recipe needs, in this process."""

    def __init__(self):
        self.made = 0
        self.util = self
        self.get_node_ip_address = lambda: "10.0.0.7"
        self.init = lambda: None
        self.get = lambda found: found
        self.exceptions = types.SimpleNamespace(RayActorError=RuntimeError)
        self.retried = []

    def remote(self, **options):
        def wrap(kind):
            if not isinstance(kind, type):
                self.retried += options["retry_exceptions"]
                return types.SimpleNamespace(remote=kind)

            def make():
                actor, proxy = kind(), types.SimpleNamespace()
                self.made += 1
                for name in [n for n in vars(kind) if not n.startswith("_")]:
                    call = types.SimpleNamespace(remote=getattr(actor, name))
                    setattr(proxy, name, call)
                return proxy

            return types.SimpleNamespace(remote=make)

        return wrap


def test_actors_of_the_clusters_page_join_the_first_one(monkeypatch):
    ray, joined = Actors(), []
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(mw.distributed, "initialize", lambda *args: joined.append(args))
    exec(blocks("clusters.md", "python")[1], {})
    assert ray.retried == [ray.exceptions.RayActorError]
    (address,) = {address for address, _, _ in joined}
    assert re.fullmatch(r"10\.0\.0\.7:\d+", address)
    assert [args[1:] for args in joined] == [(ray.made, n) for n in range(ray.made)]


def test_configuration_of_its_page_is_accepted(tools, tmp_path):
    [text] = blocks("config.md", "json")
    (tmp_path / "config.json").write_text(text)
    (tmp_path / "step.mlir").write_text(
        """
        func.func public @step(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>)
            -> tensor<8x4xf32> {
          %h = mpmd.named_computation<"encoder"> (%x) (%a: tensor<8x4xf32>) {
            mpmd.return %a : tensor<8x4xf32>
          } : (tensor<8x4xf32>) -> tensor<8x4xf32>
          %s = stablehlo.add %h, %y : tensor<8x4xf32>
          %r = mpmd.named_computation<"decoder"> (%s) (%a: tensor<8x4xf32>) {
            mpmd.return %a : tensor<8x4xf32>
          } : (tensor<8x4xf32>) -> tensor<8x4xf32>
          return %r : tensor<8x4xf32>
        }
        """
    )
    tools.check(
        "meshwright", "partition", tmp_path / "step.mlir", "--until", "import",
        "--config", tmp_path / "config.json", "-o", "-",
    )  # fmt: skip


def split_launch(command: list[str]) -> list[list[str]]:
    """A command, or the launcher's own part of it and what it starts."""
    if "meshwright.launch" not in command:
        return [command]
    script = next(i for i, word in enumerate(command) if word.endswith(".py"))
    started = ["python", *command[script:]]
    # The page's own program has no options that one could ask for.
    return [command[:script]] + ([started] if "/" in command[script] else [])


@functools.cache  # Pages show one command with several options.
def help_of_python(*path: str) -> str:
    done = subprocess.run(
        [sys.executable, *path, "--help"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def help_of(tools, command: list[str]) -> str:
    """What a command of a page says about its options."""
    tool = pathlib.Path(command[0]).name
    if tool == "python":
        path = command[1:3] if command[1] == "-m" else [str(ROOT / command[1])]
        return help_of_python(*path)
    verb = command[1:2] if tool == "meshwright" else []
    return tools.check(tool, *verb, "--help-hidden")


COMMANDS = [
    (page, line)
    for page in (
        "import.md",
        "erase.md",
        "sharding.md",
        "distributed.md",
        "developing/testing.md",
    )
    for block in blocks(page, "sh")
    for line in block.replace("\\\n", " ").splitlines()
]


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=lambda text: text[:40])
def test_commands_have_the_options_that_pages_give_them(tools, page, line):
    for command in split_launch(shlex.split(line, comments=True)):
        known = help_of(tools, command)
        for word in command[1:]:
            if word.startswith("-") and len(word) > 2:
                option = re.split(r"[= ]", word)[0].lstrip("-")
                assert re.search(rf"(?<![\w-])-+{re.escape(option)}\b", known), option


def test_installing_is_described_as_the_makefile_has_it(tools):
    text = (DOCS / "install.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake ([a-z][\w-]*)", text):
        assert re.search(rf"^{target}:", makefile, re.M), target
    for shell in re.findall(r"meshwright completion (\w+)", text):
        tools.check("meshwright", "completion", shell)
    packages = (ROOT / "packages.txt").read_text().split()
    named = re.findall(r"`((?:lib)?(?:clang|lld|llvm|mlir)-22[\w-]*)`", text)
    assert named and set(named) <= set(packages)


def test_editors_get_files_that_are_there():
    for name in re.findall(r"`(editors/[\w./-]+)`", (DOCS / "editors.md").read_text()):
        assert (ROOT / name).exists(), name
    [lua] = blocks("editors.md", "lua")
    server = re.search(r'enable\("(\w+)"\)', lua)[1]
    assert (ROOT / "editors" / "nvim" / "lsp" / f"{server}.lua").exists()


def test_every_page_is_in_the_table_of_contents():
    index = (DOCS / "index.md").read_text()
    for path in DOCS.glob("*.md"):
        assert path.stem == "index" or f"\n{path.stem}\n" in index, (
            f"docs/index.md: add {path.stem} to one of its lists"
        )


def test_every_public_name_is_in_the_api():
    pages = "".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    shown = set(re.findall(r"^\.\. auto\w+:: ([\w.]+)$", pages, re.M))
    for name, value in vars(mw).items():
        if not name.startswith("_") and (
            isinstance(value, type) or inspect.isfunction(value)
        ):
            assert {name, f"meshwright.{name}"} & shown, (
                f"docs/api: add `autofunction:: {name}` or `autoclass:: {name}`"
            )


def test_what_to_add_where_is_still_there():
    """Files and names of the lists; what begins with one of these is to be added."""
    to_add = ("CountWords", "count-words", "numWords", "MyPipe", "mypipe", "<", "PLAN")
    places = ("meshwright", "python/meshwright", "scripts", "test", "unittests", "docs")
    files = [path for place in places for path in (ROOT / place).rglob("*")]
    suffixes = (".cpp", ".h", ".td", ".def", ".py")
    source = "\n".join(p.read_text() for p in files if p.suffix in suffixes)
    page = (DOCS / "developing" / "adding.md").read_text()
    named = [
        name.split()[0].removesuffix("()")
        for name in re.findall(
            r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.S)
        )
        if not any(word in name for word in to_add)
    ]
    assert len(named) > 50
    for name in named:
        if "/" in name or re.search(r"\w\.(cpp|h|td|def|py|mlir|md)$", name):
            assert any(path.match(name) for path in files), name
        elif name.isidentifier():
            assert re.search(rf"\b{name}\b", source), name
