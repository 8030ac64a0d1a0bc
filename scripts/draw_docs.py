#!/usr/bin/env python3
"""Makes the pictures of docs/draw.md.

    .venv/bin/python scripts/draw_docs.py [--bin build/bin] [--check]

An image of a plan, by `meshwright draw`, and what a browser shows of its page. With
--check nothing is written, and the exit code is 1 if the image is not what would be
written; browsers differ in their letters, so the other one is not compared.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
PLAN = ["ZeroBubbleV", "--meshes=4", "--microbatches=4", "--json"]


def draw(folder: pathlib.Path, *arguments: str) -> str:
    tool = folder / "meshwright"
    plan = subprocess.check_output([tool, "schedule", *PLAN])
    command = [tool, "draw", "-", "--title", "ZeroBubbleV", *arguments]
    return subprocess.run(
        command, input=plan, stdout=subprocess.PIPE, check=True
    ).stdout.decode()


def photograph(page_text: str, picture: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = pathlib.Path(folder) / "page.html"
        file.write_text(page_text)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1160, "height": 640})
        page.goto(file.as_uri())
        page.wait_for_selector("body[data-ready]")
        page.fill("#search", "6B1")
        page.press("#search", "Enter")
        page.fill("#search", "")
        page.wait_for_timeout(400)
        page.screenshot(path=picture)
        browser.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    folder = args.bin.resolve()
    image = draw(folder, "--format=svg")
    path = PICTURES / "draw.svg"
    if args.check:
        if path.read_text() == image:
            return 0
        print(f"{path} is stale: run scripts/draw_docs.py", file=sys.stderr)
        return 1
    PICTURES.mkdir(exist_ok=True)
    path.write_text(image)
    photograph(draw(folder, "--format=html"), PICTURES / "draw.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
