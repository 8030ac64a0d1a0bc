"""A notebook as a page of the site: text, code, and what the code printed."""

import pathlib

import nbformat


def read_output(output: nbformat.NotebookNode) -> str:
    """What a cell printed or returned, as text."""
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        raise ValueError(f"a cell failed: {output.ename}: {output.evalue}")
    return output.data["text/plain"] + "\n"


def write_page(notebook: pathlib.Path, page: pathlib.Path) -> None:
    """Writes a notebook that was run as Markdown.

    Raises:
      ValueError: a cell failed when it was run.
    """
    parts = []
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        shown = "".join(read_output(output) for output in cell.outputs)
        if shown:
            parts.append(f"```text\n{shown.rstrip()}\n```")
    page.write_text("\n\n".join(parts) + "\n")
