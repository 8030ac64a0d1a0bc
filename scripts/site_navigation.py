"""A Sphinx extension: the tree of all pages beside each page, made once.

Furo makes the tree again for each page, which takes half of the time of the whole site.
It differs only in what its links are relative to, and in which page is the current one.
"""

import functools
import re

from furo.navigation import get_navigation_tree
from sphinx.environment.adapters.toctree import global_toctree_for_doc
from sphinx.util.osutil import relative_uri

_TAG = re.compile(r"(<(/?)(ul|li|a|input)\b[^>]*>)")
_HREF = re.compile(r'href="([^"#]*)([^"]*)"')


class Tree:
    """The tree as a page at the root shows it that is not in the tree itself."""

    def __init__(self, html: str):
        pieces = _TAG.split(html)
        self._texts, self._tags = pieces[::4], pieces[1::4]
        self._links: list[int] = []  # Which of the tags are links.
        self._boxes: dict[int, int] = {}  # By item: the box that shows what is in it.
        self._around: dict[str, list[int]] = {}  # By page: its link, and what it is in.
        opened: list[int] = []
        kinds = zip(pieces[2::4], pieces[3::4], strict=True)
        for number, (closing, kind) in enumerate(kinds):
            if kind == "input":
                self._boxes[opened[-1]] = number
            elif kind == "a" and not closing:
                self._links.append(number)
                page, anchor = _HREF.search(self._tags[number]).groups()
                if not anchor:
                    self._around.setdefault(page, [*opened, number])
            elif kind != "a" and closing:
                opened.pop()
            elif kind != "a":
                opened.append(number)

    def of_page(self, uri: str) -> str:
        """With the links of a page, which is marked as the current one."""

        def from_here(link: re.Match) -> str:
            return f'href="{relative_uri(uri, link[1]) + link[2] or "#"}"'

        tags = list(self._tags)
        for number in self._links:
            tags[number] = _HREF.sub(from_here, tags[number])
        current = self._around.get(uri, [])
        for number in current:
            tags[number] = _with_class(tags[number], "current")
            if box := self._boxes.get(number):
                tags[box] = tags[box].replace("<input", '<input checked=""')
        for number in current[-2:-1]:  # The item of the page.
            tags[number] = _with_class(tags[number], "current-page")
        pairs = zip(self._texts, [*tags, ""], strict=True)
        return "".join(text + tag for text, tag in pairs)


def _with_class(tag: str, name: str) -> str:
    if ' class="' in tag:
        return tag.replace(' class="', f' class="{name} ')
    return tag.replace(">", f' class="{name}">')


def make_tree(app) -> Tree:
    """The tree as Furo makes it, for the start page."""
    page, builder = app.config.root_doc, app.builder
    every = {"collapse": False, "titles_only": True, "maxdepth": -1}
    nodes = global_toctree_for_doc(app.env, page, builder, tags=builder.tags, **every)
    return Tree(get_navigation_tree(builder.render_partial(nodes)["fragment"]))


def setup(app) -> dict:
    once = functools.cache(lambda: make_tree(app))

    def before(app, page, template, context, doctree):
        context.pop("toctree", None)  # Furo makes no tree without it.

    def after(app, page, template, context, doctree):
        tree = once().of_page(app.builder.get_target_uri(page))
        context["furo_navigation_tree"] = tree

    app.connect("html-page-context", before, priority=400)
    app.connect("html-page-context", after, priority=600)
    return {"parallel_write_safe": False}
