"""Adapt the number of simultaneous requests to a service: more while it answers, fewer if not."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import Condition

FIRST = 2
"""Number of simultaneous requests at the start."""
LOOK_EVERY = 0.25
"""Seconds between checks whether anybody still waits for an answer."""


class Pace:
    """The number of simultaneous requests: it grows with each answer and halves at "too many".

    Each answer allows one more simultaneous request, until the service first answers "too many".
    From then on, one more is allowed after as many answers as there are simultaneous requests.

    >>> pace = Pace(most=8)
    >>> pace.turn(), pace.turn(), pace.at_once
    (True, True, 2)
    >>> pace.answered()
    >>> pace.at_once
    3
    >>> pace.too_many(began=time.monotonic())
    >>> pace.at_once
    1
    """

    def __init__(self, most: int, first: int = FIRST) -> None:
        """Args: number of simultaneous requests, at most and at the start."""
        self._most, self.at_once = most, min(first, most)
        self.answers = 0
        self._sent, self._to_grow = 0, 0
        self._begins_again, self._halved = -math.inf, -math.inf
        self._changed = Condition()

    def turn(
        self,
        ready: float = -math.inf,
        until: float = math.inf,
        is_over: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Wait until a request may be sent; False where that would be too late.

        Args:
            ready: earliest time of the request (``time.monotonic``).
            until: latest time of the request.
            is_over: whether nobody waits for the answer any more; then False is returned.
        """
        with self._changed:
            while not is_over():
                now, begins = time.monotonic(), max(ready, self._begins_again)
                if max(now, begins) >= until:
                    return False
                if now >= begins and self._sent < self.at_once:
                    self._sent += 1
                    return True
                wait = begins - now if begins > now else until - now
                self._changed.wait(min(wait, LOOK_EVERY))
            return False

    def done(self) -> None:
        """Record that a request has ended."""
        with self._changed:
            self._sent -= 1
            self._changed.notify_all()

    def answered(self) -> None:
        """Record an answer of the service."""
        with self._changed:
            self.answers += 1
            self._to_grow -= 1
            if self._to_grow <= 0:
                self.at_once = min(self.at_once + 1, self._most)
                self._to_grow = self.at_once if self._halved > -math.inf else 0
            self._changed.notify_all()

    def too_many(self, began: float, after: float | None = None) -> None:
        """Record the answer "too many"; of simultaneous requests only one counts.

        Args:
            began: time at which the request was sent.
            after: seconds without any request that the service demands (``Retry-After``).
        """
        with self._changed:
            now = time.monotonic()
            if began >= self._halved:
                self.at_once, self._halved = max(self.at_once // 2, 1), now
                self._to_grow = self.at_once
            if after is not None:
                self._begins_again = max(self._begins_again, now + after)
