#!/usr/bin/env python3
"""Makes the seeds of the fuzzing targets, from the tests and from the op tables.

    fuzz/seeds.py --bin build/bin --out build/seeds [text bytecode]

One folder per target; of all targets, if none is named. Nothing of it is stored in
the tree: the tests change, and so do their seeds.
"""

import argparse
import hashlib
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

from fuzz import op_seeds

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What every program can be taken through, whatever its test is about.
COMMON_PIPELINES = [
    "canonicalize,cse",
    "inline,symbol-dce",
    "stablehlo-target-independent-optimization",
    "func.func(chlo-legalize-to-stablehlo),canonicalize",
    "mpmd-import-pipeline",
    "mpmd-import-pipeline{infer-transfers=true}",
    "mpmd-import-pipeline{infer-transfers=true},mpmd-optimize-pipeline,"
    "mpmd-sharding-propagation-pipeline,mpmd-export-pipeline",
    "mpmd-optimize-pipeline{pipeline-schedule=1F1B}",
    "mpmd-sharding-propagation-pipeline",
    "mpmd-export-pipeline",
    "mpmd-sharding-propagation-pipeline,mpmd-export-pipeline",
    "mpmd-infer-mesh-pipeline{infer-transfers=true}",
    "sdy-propagation-pipeline",
    "sdy-populate-op-sharding-rules",
    "mpmd-erase-partitioning",
    "mpmd-split-bwd-fragments,canonicalize",
    "mpmd-remat-fragment",
    "mpmd-defer-reductions",
    "mpmd-hoist-invariant-computations",
]
DIALECTS = ("chlo", "mpmd", "sdy", "stablehlo")
NO_PASSES = re.compile(
    r"-{1,2}(split-input-file|verify-diagnostics|verify-roundtrip|mlir-.*|o|"
    r"allow-unregistered-dialect|emit-bytecode.*|debug.*|show-dialects|list-passes)$"
)


def single_passes(binaries: pathlib.Path) -> list[str]:
    """The passes of this project, without options."""
    listed = subprocess.run(
        [binaries / "mpmd-opt", "--list-passes"], capture_output=True, text=True
    ).stdout
    names = re.findall(r"^ *--([a-z0-9]+(?:-[a-z0-9]+)*)", listed, re.MULTILINE)
    return [name for name in names if name.startswith(DIALECTS)]


def pipelines_of(text: str, folder: pathlib.Path, binaries: pathlib.Path) -> list[str]:
    """What the RUN lines of a test do, as textual pipelines."""
    found = []
    text = re.sub(r"\\\n\s*// RUN:", "", text)
    for line in re.findall(r"RUN:.*?mpmd-opt\s+([^|\n]*)", text):
        line = re.split(r"\s(?:2?>|<)", line)[0].replace("%S", str(folder))
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        flags = [
            word
            for word in words
            if word.startswith("-")
            and word != "-"
            and "%" not in word
            and not NO_PASSES.match(word.split("=")[0])
        ]
        if not flags:
            continue
        done = subprocess.run(
            [binaries / "mpmd-opt", "-", *flags, "--dump-pass-pipeline"],
            input="module {}",
            capture_output=True,
            text=True,
        )
        # One that is long is on several lines.
        dumped = re.search(r"^builtin\.module\((.*)\)$", done.stderr, re.M | re.S)
        if dumped:
            found.append(re.sub(r"\n\s*", "", dumped[1]))
    return list(dict.fromkeys(found))


def chunks_of(text: str) -> list[str]:
    """The programs of a test, without comments."""
    found = []
    for chunk in re.split(r"^// -----.*$|^//--- .*$", text, flags=re.MULTILINE):
        lines = [line.split(" // ")[0] for line in chunk.splitlines()]
        lines = [line for line in lines if not line.lstrip().startswith("//")]
        chunk = "\n".join(line for line in lines if line.strip())
        if chunk:
            found.append(chunk + "\n")
    return found


class Seeds:
    def __init__(self, out: pathlib.Path, targets: list[str]):
        self.out = out
        self.targets = targets
        for folder in out.glob("*"):
            if self.wants(folder.name):
                shutil.rmtree(folder)  # Tests of before.

    def wants(self, target: str) -> bool:
        return not self.targets or target in self.targets

    def add(self, target: str, text: str | bytes) -> None:
        if not self.wants(target):
            return
        data = text if isinstance(text, bytes) else text.encode()
        folder = self.out / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)

    def add_program(self, program: str, pipelines: list[str]) -> None:
        self.add("text", program)
        for pipeline in pipelines:
            self.add("passes", f"// PIPELINE: {pipeline}\n{program}")


def pick(choices: list[str], text: str, count: int) -> list[str]:
    """Some choices, the same ones for the same text."""
    digest = hashlib.sha256(text.encode()).digest()
    return [choices[digest[i] * 256 % 65521 % len(choices)] for i in range(count)]


def add_tests(seeds: Seeds, binaries: pathlib.Path) -> None:
    singles = single_passes(binaries)
    for path in sorted((ROOT / "test").rglob("*.mlir")):
        text = path.read_text(errors="replace")
        own = []
        if seeds.wants("passes"):
            own = pipelines_of(text, path.parent, binaries)
        for chunk in chunks_of(text):
            if len(chunk) > 60000:
                continue
            if "mpmd.fragment_call" in chunk:
                seeds.add("simulation", chunk)
            others = pick(COMMON_PIPELINES, chunk, 2) + pick(singles, chunk + "1", 1)
            seeds.add_program(chunk, own + others)


def add_operations(seeds: Seeds) -> None:
    """Every operation of StableHLO and CHLO, with every element type."""
    for program in op_seeds.programs(ROOT):
        seeds.add_program(program, pick(COMMON_PIPELINES, program, 1))


def add_edges(seeds: Seeds, binaries: pathlib.Path) -> None:
    """Each odd program with each pass."""
    singles = single_passes(binaries)
    for program in chunks_of((ROOT / "fuzz/edges.mlir").read_text()):
        seeds.add_program(program, singles + COMMON_PIPELINES)


def configured_programs() -> list[tuple[pathlib.Path, pathlib.Path]]:
    folders = [ROOT / "docs", ROOT / "test/programs/mpmd"]
    return [
        (path, path.with_suffix(".json"))
        for folder in folders
        for path in sorted(folder.rglob("*.mlir"))
        if path.with_suffix(".json").exists()
    ]


def configuration_of(program: str) -> str | None:
    """Two meshes, with the names of a program on both by turns."""
    names = sorted(set(re.findall(r'mpmd.named_computation<"(\w+)"', program)))
    if "@main" not in program and not names:
        return None
    function = re.search(r"func.func (?:public )?@(\w+)", program)
    axes = sorted(set(re.findall(r'"(\w+)"=2', program)))[:3] or ["x"]
    mesh = {axis: 2 for axis in axes}
    return json.dumps(
        {
            "function": function[1] if function else "main",
            "topology": {"m1": mesh, "m2": mesh},
            "assignment": {name: [f"m{i % 2 + 1}", i] for i, name in enumerate(names)},
            "options": {"mpmd_infer_transfers": True},
        }
    )


def add_configured(seeds: Seeds) -> None:
    for program, config in configured_programs():
        text = config.read_text()
        seeds.add("config", text)
        if program.stat().st_size < 80000:
            line = json.dumps(json.loads(text))
            seeds.add("partition", f"// CONFIG: {line}\n{program.read_text()}")
    for path in sorted((ROOT / "test").rglob("*.mlir")):
        if path.stat().st_size > 80000:
            continue
        for chunk in chunks_of(path.read_text(errors="replace")):
            if config := configuration_of(chunk):
                seeds.add("config", config)
                seeds.add("partition", f"// CONFIG: {config}\n{chunk}")


def add_texts(seeds: Seeds) -> None:
    """What other files there are, and what is in programs and options."""
    for path in sorted((ROOT / "test").rglob("*.json")):
        seeds.add("json-files", path.read_text())
    for path in sorted((ROOT / "test").rglob("*.csv")):
        seeds.add("plan-csv", path.read_text())
    for path in sorted((ROOT / "unittests/Schedule/tables").rglob("*.csv")):
        seeds.add("plan-csv", path.read_text())
    for path in sorted((ROOT / "meshwright/Cost").glob("*.json")):
        seeds.add("json-files", path.read_text())
    for path in sorted((ROOT / "test").rglob("*.mlir")):
        text = path.read_text(errors="replace")
        for value in re.findall(r"[#!](?:mpmd|sdy|stablehlo|chlo)[.<][^\n]*>", text):
            seeds.add("attributes", value.split(" = ")[0])
        for rule in re.findall(r"Fragment(?:Merge|Schedule)Rule\([^\n']*\)", text):
            seeds.add("rules", rule)
        for option in re.findall(r"-(mpmd-[\w-]+)='?([\w-]+=[^\n'|]*)", text):
            seeds.add("options", f"{option[0]}{{{option[1].strip()}}}")
    for key in re.findall(r'"(mpmd_\w+)"', (ROOT / "docs/config.md").read_text()):
        seeds.add("options", f"{key}=1")


def add_bytecode(seeds: Seeds, binaries: pathlib.Path) -> None:
    for path in sorted((ROOT / "test/Dialect").rglob("*.mlir")):
        for chunk in chunks_of(path.read_text(errors="replace"))[:1]:
            done = subprocess.run(
                [binaries / "mpmd-opt", "-", "--emit-bytecode"],
                input=chunk.encode(),
                capture_output=True,
            )
            if done.returncode == 0:
                seeds.add("bytecode", done.stdout)


def add_schedules(seeds: Seeds, binaries: pathlib.Path) -> None:
    for program, config in configured_programs():
        with tempfile.TemporaryDirectory() as folder:
            command = [binaries / "meshwright", "partition", program, "-o", folder]
            out = pathlib.Path(folder)
            subprocess.run([*command, "--config", config], capture_output=True)
            if not (out / "schedule.json").exists():
                continue
            schedule = json.dumps(json.loads((out / "schedule.json").read_text()))
            module = (out / "partitioned.mlir").read_text()
            seeds.add("schedule-json", f"// SCHEDULE: {schedule}\n{module}")
            seeds.add("simulation", module)


def add_command_lines(seeds: Seeds) -> None:
    """Those of the tests, with the files that the target has."""
    for path in sorted((ROOT / "test").rglob("*")):
        if path.suffix not in (".mlir", ".test"):
            continue
        text = re.sub(r"\\\n\s*(?://)? *RUN:", "", path.read_text(errors="replace"))
        runs = r"RUN:.*?\b(meshwright|mpmd-opt)\s+([^|\n]*)"
        for tool, line in re.findall(runs, text):
            try:
                words = shlex.split(re.split(r"\s(?:2?>|<|&&)", line)[0])
            except ValueError:
                continue
            seeds.add("command-lines", "\n".join([tool, *map(file_for, words)]))
    for arguments in (
        ["-mpmd-reduce-program=test=check.sh"],
        ["-reduction-tree=traversal-mode=0 test=check.sh", "-o", "small.mlir"],
        ["-opt-reduction-pass=opt-pass=cse test=check.sh"],
    ):
        seeds.add(
            "command-lines", "\n".join(["mpmd-reduce", "program.mlir", *arguments])
        )


def message(method: str, number: int | None = None, **params) -> str:
    """What an editor sends; with a number if it wants an answer."""
    fields = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(fields if number is None else {**fields, "id": number})


def add_messages(seeds: Seeds) -> None:
    """An editor opens a program, asks at some places, and changes it."""
    begin = message("initialize", 0, capabilities={}, rootUri=None, trace="off")
    asked = ("definition", "hover", "references", "completion")
    programs = [
        chunk
        for path in sorted((ROOT / "test").rglob("*.mlir"))
        for chunk in chunks_of(path.read_text(errors="replace"))[:1]
        if len(chunk) < 8000
    ]
    for program, next_program in zip(
        programs, programs[1:] + programs[:1], strict=True
    ):
        uri = {"uri": "file:///a.mlir"}
        opened = {**uri, "languageId": "mlir", "version": 1, "text": program}
        lines = [begin, message("textDocument/didOpen", textDocument=opened)]
        references = [match.start() for match in re.finditer("[%@!#]", program)]
        for number, place in enumerate(references[:: len(references) // 4 + 1], 1):
            before = program[:place]
            line, column = before.count("\n"), place - before.rfind("\n")
            lines.append(
                message(
                    f"textDocument/{asked[number % 4]}",
                    number,
                    textDocument=uri,
                    position={"line": line, "character": column},
                    context={"includeDeclaration": True},
                )
            )
        lines.append(
            message(
                "textDocument/codeAction",
                10,
                textDocument=uri,
                range={"start": {"line": 0, "character": 0}, "end": {"line": 9}},
                context={"diagnostics": []},
            )
        )
        lines += [
            message("textDocument/documentSymbol", 11, textDocument=uri),
            message("mlir/convertToBytecode", 12, **uri),
            message(
                "textDocument/didChange",
                textDocument={**uri, "version": 2},
                contentChanges=[{"text": next_program}],
            ),
            message("textDocument/didClose", textDocument=uri),
        ]
        seeds.add("language-server", "\n".join(lines) + "\n")


def file_for(word: str) -> str:
    """An argument with names of files that are there."""
    if word in ("%s", "-"):
        return "program.mlir"
    named = re.sub(r"[%\w./-]*/\w*layers\w*\.json", "layers.json", word)
    named = re.sub(r"[%\w./-]*/[\w-]+\.json", "config.json", named)
    return (
        re.sub(r"[%\w./-]*/[\w-]+\.(mlir|csv)", r"%.\1", named)
        .replace("%.mlir", "program.mlir")
        .replace("%.csv", "plan.csv")
        .replace("%t", "out")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/seeds")
    parser.add_argument("targets", nargs="*")
    args = parser.parse_args()
    seeds = Seeds(args.out, args.targets)
    add_tests(seeds, args.bin)
    add_edges(seeds, args.bin)
    add_configured(seeds)
    add_texts(seeds)
    if seeds.wants("bytecode"):
        add_bytecode(seeds, args.bin)
    if seeds.wants("schedule-json") or seeds.wants("simulation"):
        add_schedules(seeds, args.bin)
    add_command_lines(seeds)
    add_messages(seeds)
    add_operations(seeds)
    for folder in sorted(args.out.iterdir()):
        print(f"{folder.name}: {len(list(folder.iterdir()))} seeds")


if __name__ == "__main__":
    main()
