"""The tutorial's notebook runs, and prints what is printed in it."""

import contextlib
import io

import nbformat
import pytest
from support.tools import ROOT

pytestmark = pytest.mark.usefixtures("x32")

NOTEBOOK = ROOT / "examples" / "tutorial.ipynb"


def test_every_cell_prints_what_the_notebook_shows():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    names: dict = {}
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    for number, cell in enumerate(cells):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(cell.source, f"tutorial.ipynb, cell {number}", "exec"), names)
        shown = "".join(output.text for output in cell.outputs)
        assert printed.getvalue() == shown
