#!/usr/bin/env python3
"""Takes each program of the tests through each pass, as the target `passes` does.

    . scripts/sanitizers.sh; fuzz/every_pass.py --bin build-asan/bin

Seeds have each program with a few passes; this has all, some hundred thousand inputs,
and finds at once what a new test tells of old passes. Prints what was found, which
`--findings` has as files for the target; exit code 1 if there is anything.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from fuzz import seeds

PER_PROCESS = 500
LONGEST = 20000  # Programs that are longer are few, and most of the time.


def programs() -> list[str]:
    """The chunks of all tests and of `edges.mlir`, each once."""
    paths = [
        *sorted((seeds.ROOT / "test").rglob("*.mlir")),
        seeds.ROOT / "fuzz/edges.mlir",
    ]
    chunks = [
        chunk
        for path in paths
        for chunk in seeds.chunks_of(path.read_text(errors="replace"))
        if len(chunk) <= LONGEST
    ]
    return list(dict.fromkeys(chunks))


def take(binary: pathlib.Path, inputs: list[str]) -> list[tuple[str, str]]:
    """The inputs on which the target ends, with what it says."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, str(number)) for number in range(len(inputs))]
        for path, text in zip(paths, inputs, strict=True):
            pathlib.Path(path).write_text(text)
        while paths:
            command = [binary, "-timeout=60", "-rss_limit_mb=6144", *paths]
            done = subprocess.run(command, capture_output=True, cwd=folder)
            if done.returncode == 0:
                break
            said = done.stderr.decode(errors="replace")
            last = re.findall(r"^Running: (.*)$", said, re.MULTILINE)[-1]
            found.append((pathlib.Path(last).read_text(), said.split(last)[-1].strip()))
            paths = paths[paths.index(last) + 1 :]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--bin", type=pathlib.Path, default=seeds.ROOT / "build-asan/bin"
    )
    parser.add_argument("--findings", type=pathlib.Path, help="a folder for the inputs")
    parser.add_argument("--passes", default="", help="parts of names, with commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    words = options.passes.split(",")
    pipelines = [
        pipeline
        for pipeline in seeds.single_passes(options.bin) + seeds.COMMON_PIPELINES
        if any(word in pipeline for word in words)
    ]
    chunks = programs()
    inputs = [
        f"// PIPELINE: {pipeline}\n{chunk}"
        for pipeline in pipelines
        for chunk in chunks
    ]
    binary = options.bin.resolve() / "fuzz-passes"
    batches = [
        inputs[at : at + PER_PROCESS] for at in range(0, len(inputs), PER_PROCESS)
    ]
    count = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(lambda batch: take(binary, batch), batches):
            for text, said in found:
                print(
                    f"{text.splitlines()[0]}: {said[:400]}\n{text[:1000]}", flush=True
                )
                if options.findings:
                    options.findings.mkdir(parents=True, exist_ok=True)
                    (options.findings / f"every-pass-{count}").write_text(text)
                count += 1
    print(
        f"{len(inputs)} inputs, {len(pipelines)} passes or pipelines, {count} findings"
    )
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
