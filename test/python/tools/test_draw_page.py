"""The page of `meshwright draw` in a browser, with a mouse and a keyboard."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest
from support import browser
from support.tools import ROOT

INPUTS = ROOT / "test" / "Draw" / "Inputs"
SIMULATION = INPUTS / "simulation.json"


@pytest.fixture(scope="module")
def chromium():
    with browser.run() as running:
        yield running


@pytest.fixture(scope="module")
def pages(tools, tmp_path_factory):
    """Pages of a simulation, of it beside a recording, and of a larger plan."""
    out = tmp_path_factory.mktemp("pages")
    tools.check("meshwright", "draw", SIMULATION, "-o", out / "simulated.html")
    recording = ["--recorded", INPUTS / "recording.json"]
    tools.check("meshwright", "draw", SIMULATION, *recording, "-o", out / "both.html")
    shape = ["--meshes=32", "--microbatches=64", "--json"]
    plan = tools.check("meshwright", "schedule", "ZeroBubbleH1", *shape)
    tools.check("meshwright", "draw", "-", "-o", out / "plan.html", stdin=plan)
    return out


@pytest.fixture
def open_page(chromium, pages):
    opened = []

    def open_one(name):
        opening = chromium.open((pages / name).as_uri())
        page, complaints = opening.__enter__()
        opened.append((opening, complaints))
        page.wait_for_selector("body[data-ready]")
        settle(page)
        return page

    yield open_one
    for opening, complaints in opened:
        opening.__exit__(None, None, None)
        assert complaints == []


def settle(page):
    """Two frames, and the time after which a movement is over."""
    page.wait_for_timeout(160)
    page.evaluate(
        """new Promise((done) =>
             requestAnimationFrame(() => requestAnimationFrame(done)))"""
    )


def state(page) -> dict:
    return page.evaluate("({...document.getElementById('timeline').dataset})")


def view(page) -> tuple[float, float]:
    shown = state(page)
    return float(shown["from"]), float(shown["to"])


def place(page, time: float, row: float) -> tuple[float, float]:
    """Where on the screen a time is, and a part of the height of the rows."""
    box = page.locator("#timeline .u-over").bounding_box()
    start, stop = view(page)
    x = box["x"] + (time - start) / (stop - start) * box["width"]
    return x, box["y"] + row * box["height"]


def colour_at(page, x: float, y: float) -> tuple[int, ...]:
    """What the canvas shows there."""
    return tuple(
        page.evaluate(
            """([x, y]) => {
              const canvas = document.querySelector("#timeline canvas");
              const box = canvas.getBoundingClientRect();
              const pixel = document.createElement("canvas").getContext("2d");
              pixel.drawImage(canvas, -(x - box.x) * canvas.width / box.width,
                              -(y - box.y) * canvas.height / box.height);
              return [...pixel.getImageData(0, 0, 1, 1).data.slice(0, 3)];
            }""",
            [x, y],
        )
    )


def test_all_bars_are_there(open_page):
    page = open_page("plan.html")
    assert page.locator("body").get_attribute("data-bars") == str(32 * 64 * 3)
    assert state(page)["painted"] == str(32 * 64 * 3)
    assert view(page)[0] == 0
    assert "makespan" in page.inner_text("#summary")
    assert page.title() == "stdin – Meshwright"
    legend = page.inner_text("#legend")
    assert "F forward" in legend and "W weight gradient" in legend
    assert "optimizer" not in legend  # There is none.


def test_colours_are_where_the_bars_are(open_page):
    page = open_page("simulated.html")
    sky, idle = (0x56, 0xB4, 0xE9), (241, 243, 245)
    y = page.locator("#timeline .u-over").bounding_box()["y"] + 8
    x, _ = place(page, 0.0002, 0)
    assert colour_at(page, x, y) == sky
    x, _ = place(page, 0.003, 0)
    assert colour_at(page, x, y) == idle


def test_wheel_zooms_about_the_pointer(open_page):
    page = open_page("plan.html")
    start, stop = view(page)
    at = start + 0.25 * (stop - start)
    page.mouse.move(*place(page, at, 0.5))
    page.mouse.wheel(0, -600)
    settle(page)
    near = view(page)
    assert near[1] - near[0] < 0.6 * (stop - start)
    assert near[0] < at < near[1]
    assert (at - near[0]) / (near[1] - near[0]) == pytest.approx(0.25, abs=0.02)
    assert int(state(page)["painted"]) < 32 * 64 * 3
    page.mouse.wheel(0, 5000)
    settle(page)
    assert view(page) == (start, stop)


def test_drag_moves_and_stays_inside(open_page):
    page = open_page("plan.html")
    page.click("#timeline", position={"x": 300, "y": 300})
    page.keyboard.press("Escape")
    for _ in range(4):
        page.keyboard.press("+")
    settle(page)
    before = view(page)
    box = page.locator("#timeline .u-over").bounding_box()
    page.mouse.move(box["x"] + 500, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 200, steps=4)
    page.mouse.up()
    settle(page)
    after = view(page)
    moved = (after[0] - before[0]) / (before[1] - before[0])
    assert moved == pytest.approx(200 / box["width"], abs=0.01)
    page.mouse.move(box["x"] + 50, box["y"] + 200)
    for _ in range(12):
        page.mouse.down()
        page.mouse.move(box["x"] + 900, box["y"] + 200)
        page.mouse.up()
        page.mouse.move(box["x"] + 50, box["y"] + 200)
    settle(page)
    assert view(page)[0] == pytest.approx(0, abs=1e-6)


def test_hover_tells_what_it_is(open_page):
    page = open_page("simulated.html")
    box = page.locator("#timeline .u-over").bounding_box()
    x, _ = place(page, 0.006, 0)
    page.mouse.move(x, box["y"] + 10)
    text = page.locator("#tip").inner_text()
    assert "p0_enc_bwd" in text and "enc(1)" in text
    assert re.search(r"Microbatch\s+0", text)
    assert re.search(r"Time\s+2 ms", text) and "5 ms – 7 ms" in text
    x, _ = place(page, 0.003, 0)
    page.mouse.move(x, box["y"] + 10)  # Idle.
    assert page.locator("#tip").is_hidden()


def test_transfers_say_their_bytes(open_page):
    page = open_page("simulated.html")
    page.fill("#search", "m1 -> mb:1 transfer")
    page.press("#search", "Enter")
    text = page.inner_text("#panel")
    assert re.search(r"From\s+m1", text) and re.search(r"To\s+m2", text)
    assert re.search(r"Bytes\s+1 KiB, 1.95 MiB/s", text)


def test_selection_shows_both_sides(open_page):
    page = open_page("simulated.html")
    box = page.locator("#timeline .u-over").bounding_box()
    x, _ = place(page, 0.006, 0)
    page.mouse.click(x, box["y"] + 10)
    assert state(page)["selected"] == "5"
    panel = page.locator("#panel")
    before, after = panel.inner_text().split("Waits for it")
    assert "m2 -> m1" in before and "the last, at once" in before
    assert "p0_enc" in before and "3 ms between" in before
    assert "p0_<adam>" in after
    assert "critical path" in before
    assert "p0_enc_bwd" in page.locator("#status").inner_text()
    panel.get_by_role("button", name="m2 -> m1").click()
    assert state(page)["selected"] == "3"


def test_keyboard_goes_everywhere(open_page):
    page = open_page("simulated.html")
    page.focus("#timeline")
    page.keyboard.press("/")
    page.keyboard.type("F1")
    assert page.inner_text("#found") == "1 found"
    page.keyboard.press("Enter")
    assert state(page)["selected"] == "4"
    page.keyboard.press("Escape")  # Out of the search.
    page.keyboard.press("ArrowRight")
    assert state(page)["selected"] == "5"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("b")  # What it waited for.
    assert state(page)["selected"] == "0"
    page.keyboard.press("ArrowDown")  # What m1 receives.
    assert state(page)["selected"] == "3"
    page.keyboard.press("Escape")
    assert state(page)["selected"] == ""
    whole = view(page)
    page.keyboard.press("+")
    settle(page)
    near = view(page)
    assert near[1] - near[0] == pytest.approx((whole[1] - whole[0]) / 1.5)
    page.keyboard.press("d")
    settle(page)
    assert view(page)[0] > near[0]
    page.keyboard.press("0")
    settle(page)
    assert view(page) == whole
    page.keyboard.press("c")
    assert page.get_attribute("#critical", "aria-pressed") == "true"
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#help").is_hidden()


def test_search_counts_and_pales_the_rest(open_page):
    page = open_page("plan.html")
    x, y = place(page, 0.5, 0)
    before = colour_at(page, x, y + 4)
    for words, found in [
        ("weight", 32 * 64),
        ("mb:3", 32 * 3),
        ("stage:2 forward", 64),
        ("F7", 32),
        ("nothing-like-this", 0),
    ]:
        page.fill("#search", words)
        assert page.inner_text("#found") == f"{found} found"
    page.fill("#search", "weight")
    settle(page)
    assert colour_at(page, x, y + 4) != before
    page.fill("#search", "")
    settle(page)
    assert colour_at(page, x, y + 4) == before


def test_tables_and_curves(open_page):
    page = open_page("simulated.html")
    assert page.locator("#memory canvas").is_visible()
    assert "Peak of m1: 3 KiB" in page.inner_text("#shares")
    page.click("#tab-links")
    assert page.locator("#links canvas").is_visible()
    assert "m1 → m2" in page.inner_text("#links")
    page.click("#tab-edges")
    assert "2 KiB" in page.inner_text("#edges")
    page.click("#tab-path")
    assert page.locator("#path tbody tr").count() == 6
    page.locator("#path tbody tr").nth(2).click()
    assert state(page)["selected"] == "2"
    page.click("#tab-meshes")
    head = page.locator("#meshes thead button").first
    head.click()
    head.click()
    assert page.locator("#meshes tbody td").first.inner_text() == "m2"


def test_graph_of_fragments(open_page):
    page = open_page("simulated.html")
    page.click("#tab-graph")
    assert page.locator("#graph .node").count() == 5
    assert "1 KiB" in page.inner_text("#graph")
    page.locator("#graph .node", has_text="p1_dec_w").click()
    assert state(page)["selected"] == "7"


def test_recorded_run_is_beside(open_page):
    page = open_page("both.html")
    assert page.locator("body").get_attribute("data-recorded") == "5"
    rows = page.locator("#differences tbody tr")
    assert rows.first.inner_text().split("\t")[:2] == ["p1_dec", "m2"]
    assert "+3 ms" in rows.first.inner_text() and "× 2.00" in rows.first.inner_text()
    rows.first.click()
    assert re.search(r"Recorded\s+6 ms, from 2 ms", page.inner_text("#panel"))


def contrast(first: str, second: str) -> float:
    def luminance(colour):
        parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)


TEXTS = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim()) continue;
    if (!element.checkVisibility() || element.closest("svg, .unseen")) continue;
    let below = element;
    while (below && getComputedStyle(below).backgroundColor === "rgba(0, 0, 0, 0)")
      below = below.parentElement;
    found.push([walker.currentNode.textContent.trim(),
                getComputedStyle(element).color,
                below ? getComputedStyle(below).backgroundColor : "rgb(255,255,255)"]);
  }
  return found;
}"""


@pytest.mark.parametrize("tab", ["memory", "meshes", "path"])
def test_all_text_has_contrast(open_page, tab):
    page = open_page("simulated.html")
    page.click(f"#tab-{tab}")
    page.click("#critical")
    page.fill("#search", "F0")
    page.press("#search", "Enter")
    texts = page.evaluate(TEXTS)
    assert len(texts) > 30
    assert [each for each in texts if contrast(*each[1:]) < 4.5] == []


def test_letters_in_bars_have_contrast(tools):
    drawn = tools.check("meshwright", "draw", SIMULATION, "--format=svg")
    fills = set(re.findall(r'fill="(#[0-9a-f]{6})"', drawn))
    assert len(fills) >= 5
    for fill in fills:
        parts = [str(int(fill[i : i + 2], 16)) for i in (1, 3, 5)]
        assert contrast(" ".join(parts), "27 31 36") >= 4.5, fill


def make_trace(meshes: list[str]) -> dict:
    """A recording of one run, with a fragment on each mesh."""
    events = []
    for pid, mesh in enumerate(meshes, 1):
        name = {"ph": "M", "name": "process_name", "pid": pid, "tid": 0}
        events.append(name | {"args": {"name": mesh}})
        span = {"ph": "X", "name": f"p{pid}", "cat": "fragment", "pid": pid, "tid": 0}
        span |= {"ts": 10.0 * pid, "dur": 8.0}
        events.append(span | {"args": {"run": 0, "item": None, "bytes": 0}})
    return {"traceEvents": events}


def test_commands_of_the_docs_run(tools, tmp_path):
    text = (ROOT / "docs" / "draw.md").read_text()
    scripts = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    first = ROOT / "docs" / "first.mlir"
    config = ["--config", first.with_suffix(".json"), "-o", tmp_path / "out"]
    tools.check("meshwright", "partition", first, *config)
    (tmp_path / "step.trace.json").write_text(json.dumps(make_trace(["m1", "m2"])))
    path = f"{tools.folder.resolve()}:{os.environ['PATH']}"

    def run(script):
        return subprocess.run(
            ["bash", "-ec", script],
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
        )

    for script in scripts:
        done = run(script)
        assert done.returncode == 0, done.stderr
    assert len(scripts) == 2
    shown, printed = re.search(
        r"^```\n\$ (.*?)\n(.*?)^```$", text, re.M | re.S
    ).groups()
    assert run(shown).stdout == printed


def test_image_of_the_docs_is_current(tools):
    script = [sys.executable, ROOT / "scripts" / "draw_docs.py", "--check"]
    done = subprocess.run(
        [*script, "--bin", tools.folder], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_trace_is_one_that_perfetto_opens(tools):
    trace = json.loads(
        tools.check("meshwright", "draw", SIMULATION, "--format=perfetto")
    )
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X", "s", "f", "C"}
    for event in events:
        assert isinstance(event["pid"], int)
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0
    starts = {event["id"] for event in events if event["ph"] == "s"}
    assert starts == {event["id"] for event in events if event["ph"] == "f"}


def read_terminal(command: list[str], **environment) -> str:
    main, other = pty.openpty()
    with subprocess.Popen(
        command,
        stdout=other,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    ) as process:
        os.close(other)
        text = b""
        while True:
            try:
                part = os.read(main, 1 << 16)
            except OSError:  # The other end is closed.
                break
            if not part:
                break
            text += part
    os.close(main)
    assert process.returncode == 0
    return text.decode()


def test_a_terminal_gets_colours_unless_it_refuses(tools):
    command = [str(tools.folder / "meshwright"), "draw", str(SIMULATION)]
    os.environ.pop("NO_COLOR", None)
    assert "\x1b[30;48;5;74mF" in read_terminal(command)
    assert "\x1b" not in read_terminal(command, NO_COLOR="1")
