"""Headless Chromium for tests of pages. It reaches files only."""

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, sync_playwright

SIZE = {"width": 1400, "height": 900}


class Browser:
    """Shows one page at a time, in one tab: each new tab would start a process.

    So pages of files share what they store.
    """

    def __init__(self, chromium):
        self._page = chromium.new_page(viewport=SIZE)
        self._complaints: list[str] = []

        def complain(message: str) -> None:
            self._complaints.append(message)

        self._page.on("console", lambda message: complain(message.text))
        self._page.on("pageerror", lambda error: complain(str(error)))
        self._page.on("request", lambda request: _check_local(request, complain))

    @contextlib.contextmanager
    def open(self, url: str) -> Iterator[tuple[Page, list[str]]]:
        """The page, and what its scripts complain about while it is open."""
        assert self._page.url == "about:blank", f"{self._page.url} is still open"
        complaints = self._complaints = []
        self._page.mouse.move(0, 0)
        self._page.goto(url)
        try:
            yield self._page, complaints
        finally:
            self._page.goto("about:blank")


def _check_local(request, complain: Callable[[str], None]) -> None:
    if not re.match(r"(file|data|blob):", request.url):
        complain(f"loads {request.url}")


@contextlib.contextmanager
def run() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if not program:
        pytest.fail("needs Chromium (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND"],
        )
        try:
            yield Browser(chromium)
        finally:
            chromium.close()
