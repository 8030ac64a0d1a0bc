# SPDX-License-Identifier: Apache-2.0
"""What asks the launcher to end."""

from __future__ import annotations

import signal

from ..core import ending


class Stop:
    """Counts the signals that ask for the end, instead of being interrupted by them.

    An exception could come while the launcher ends what it has started, and keep it
    from ending the rest. What is ignored already, as by `nohup`, stays so.

    Attributes:
      number: the first of them; None so far.
      count: how many came.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.count = 0
        for number in ending.SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._note)

    def _note(self, number: int, frame: object) -> None:
        self.number = self.number or number
        self.count += 1
