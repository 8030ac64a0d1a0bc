# SPDX-License-Identifier: Apache-2.0
"""docs/hardware.md, with the compiler of TPUs that its first lines install."""

import re

from support.tools import ROOT

PAGE = (ROOT / "docs" / "hardware.md").read_text()


def test_the_page_gets_to_fits(capsys):
    code, _ = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    exec(compile(code, "docs/hardware.md", "exec"), {})
    printed = capsys.readouterr().out
    (shown,) = re.findall(r"^```text\n(.*?)^\.\.\.$", PAGE, re.M | re.S)
    wanted, found = (re.findall(r"^m\d.*", text, re.M) for text in (shown, printed))
    # How large the code is differs from release to release.
    assert [line.split()[::4] for line in found] == [
        line.split()[::4] for line in wanted
    ]
    assert all(line.endswith("fits") for line in found)
    assert "p0_first_fwd.step" in printed
