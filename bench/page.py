#!/usr/bin/env python3
"""Measures the page of `meshwright draw` in headless Chromium.

    .venv/bin/python bench/page.py [--bin build/bin] [--shape 64x512]

A plan of 64 meshes and 512 microbatches has 98,304 bars. Printed are how long the
command takes, the size of the page, the time from the request until all bars are
drawn, and what the script takes for a frame of a zoom, from all bars to a few and
back: at 60 frames a second there are 16.7 ms.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Turns the wheel once a frame, and takes the time of the frame's scripts: that of
# the callback that the page itself has asked for.
ZOOM = """async () => {
  const times = [];
  const request = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (callback) => request((now) => {
    const start = performance.now();
    callback(now);
    // The chart paints in a microtask after the callback.
    queueMicrotask(() => queueMicrotask(() => times.push(performance.now() - start)));
  });
  const over = document.querySelector("#timeline .u-over");
  const box = over.getBoundingClientRect();
  const frames = [];
  let last = performance.now();
  for (let i = 0; i < 120; i++) {
    over.dispatchEvent(new WheelEvent("wheel", {
      deltaY: i < 60 ? -50 : 50, bubbles: true, cancelable: true,
      clientX: box.x + box.width / 2, clientY: box.y + box.height / 2}));
    await new Promise(request);
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  return [times, frames];
}"""


def describe(times: list[float]) -> str:
    times = sorted(times)
    return (
        f"median {statistics.median(times):.1f}, "
        f"95 % below {times[int(0.95 * len(times))]:.1f}, most {times[-1]:.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--shape", default="64x512", help="meshes x microbatches")
    args = parser.parse_args()
    tool = args.bin.resolve() / "meshwright"
    meshes, microbatches = args.shape.split("x")
    shape = [f"--meshes={meshes}", f"--microbatches={microbatches}", "--json"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        plan = pathlib.Path(folder) / "plan.json"
        plan.write_bytes(
            subprocess.check_output([tool, "schedule", "ZeroBubbleH1", *shape])
        )
        page_file = plan.with_suffix(".html")
        begin = time.perf_counter()
        subprocess.run([tool, "draw", plan, "-o", page_file], check=True)
        print(f"meshwright draw: {time.perf_counter() - begin:.2f} s")
        print(f"page: {page_file.stat().st_size / 1e6:.2f} MB")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        opened = []
        for _ in range(3):
            page.goto(page_file.as_uri())
            page.wait_for_selector("body[data-ready]")
            opened.append(float(page.locator("body").get_attribute("data-ready")))
        bars = page.locator("body").get_attribute("data-bars")
        print(f"{bars} bars are there after {min(opened):.0f} to {max(opened):.0f} ms")
        scripts, frames = page.evaluate(ZOOM)
        print(f"scripts of a frame while zooming: {describe(scripts)}")
        print(f"from frame to frame: {describe(frames)}")
        browser.close()


if __name__ == "__main__":
    main()
