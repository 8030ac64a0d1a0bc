"""The documentation as a site: it builds without a warning, and works without a
network in a browser."""

import re
import subprocess
import sys

import nbformat
import pytest
from support import browser
from support.tools import ROOT

from scripts import notebook_page, site_builder


@pytest.fixture(scope="module")
def site(tools, tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "site_builder.py"]
        + ["--build", tools.folder.parent, "--out", out],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return out


def test_site_has_api_passes_and_drawings(site):
    api = (site / "api" / "programs.html").read_text()
    assert 'id="meshwright.named_computation"' in api and "Raises" in api
    pages = (site / "reference").glob("passes-*.html")
    passes = "".join(page.read_text() for page in pages)
    assert "mpmd-pipeline-scheduler" in passes and "must-happen-before" in passes
    page = (site / "schedules.html").read_text()
    drawings = re.findall(r'src="_images/([\w-]+\.svg)"', page)
    images = {image.name for image in (site / "_images").glob("*.svg")}
    assert len(set(drawings)) == len(images - {"draw.svg"}) >= 18
    page = (site / "draw.html").read_text()
    assert "_images/draw.svg" in page and "_images/draw.png" in page


def test_the_tree_beside_a_page_marks_it(site):
    current = r'<li class="[^"]*\bcurrent-page\b[^"]*"><a class="[^"]*" href="(.*?)">'
    boxes = r'<input [^>]*aria-label="Toggle navigation of ([^"]+)"[^>]*>'
    for page, around in {"api/programs": "Python API", "faq": None}.items():
        shown = (site / f"{page}.html").read_text()
        tree = shown[shown.index('class="sidebar-tree"') :].partition("</aside>")[0]
        assert re.findall(current, tree) == ["#"]
        opened = [box[1] for box in re.finditer(boxes, tree) if "checked" in box[0]]
        assert opened == ([around] if around else [])
        up = "../" * page.count("/")
        assert f'href="{up}reference/mpmd.html"' in tree
        assert tree.count("<li ") == tree.count("</li>") > 90
    start = (site / "index.html").read_text()
    assert not re.findall(current, start) and 'href="api/programs.html"' in start


def test_tutorial_shows_what_its_cells_print(site, tmp_path):
    page = (site / "reference" / "tutorial.html").read_text()
    assert "From a training step to a pipeline" in page
    cells = nbformat.read(ROOT / "examples" / "tutorial.ipynb", as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert page.count("highlight-python") == len(code)
    assert page.count("highlight-text") == sum(bool(cell.outputs) for cell in code)

    failed = nbformat.v4.new_output("error", ename="KeyError", evalue="'x'")
    cell = nbformat.v4.new_code_cell("f()", outputs=[failed])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "bad.ipynb")
    with pytest.raises(ValueError, match="a cell failed: KeyError"):
        notebook_page.write_page(tmp_path / "bad.ipynb", tmp_path / "bad.md")


def test_bad_links_and_foreign_sources_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here"></a><a href="#gone"></a><a href="b.html"></a>'
        '<script src="https://example.org/x.js"></script><a href="https://a.b"></a>'
    )
    assert site_builder.check(tmp_path) == [
        "a.html: no place #gone",
        "a.html: no b.html",
        "a.html loads https://example.org/x.js",
    ]


@pytest.fixture(scope="module")
def chromium():
    with browser.run() as running:
        yield running


def test_errors_of_pages_are_seen(chromium, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<script>console.error('seen'); fetch('https://a.b/c'); missing()</script>"
    )
    with chromium.open(page.as_uri()) as (_, complaints):
        assert "seen" in complaints
        assert "missing is not defined" in complaints
        assert "loads https://a.b/c" in complaints


@pytest.mark.parametrize("page", ["index", "schedules", "api/programs"])
def test_pages_open_without_errors(chromium, site, page):
    with chromium.open((site / f"{page}.html").as_uri()) as (shown, complaints):
        assert complaints == [] and "Meshwright" in shown.content()


def test_search_finds_pages(chromium, site):
    url = (site / "search.html").as_uri() + "?q=transfer"
    with chromium.open(url) as (shown, complaints):
        shown.wait_for_function(
            "/found \\d+ pages? matching/.test(document.body.innerText)"
        )
        assert complaints == [] and "runtime.html" in shown.content()
