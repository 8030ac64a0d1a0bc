"""Headless Chromium for tests of pages. It reaches files only."""

import contextlib
import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, sync_playwright

SIZE = {"width": 1400, "height": 900}


class Browser:
    def __init__(self, chromium):
        self._chromium = chromium

    @contextlib.contextmanager
    def open(self, url: str) -> Iterator[tuple[Page, list[str]]]:
        """The page, and what its scripts complain about while it is open."""
        context = self._chromium.new_context(viewport=SIZE)
        try:
            page, complaints = context.new_page(), []
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda request: _check_local(request, complaints))
            page.goto(url)
            yield page, complaints
        finally:
            context.close()


def _check_local(request, complaints: list[str]) -> None:
    if not re.match(r"(file|data|blob):", request.url):
        complaints.append(f"loads {request.url}")


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
