"""An endpoint that fails in all ways, in a process of its own: ``misbehaving.py PORT LOG SEED``.

With ``faultless`` as a fourth argument it answers each request after a short time. It is killed
and started again at the same port; its log says what it was asked and delivered.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from image_server import RATES, Server


def main() -> None:
    """Serve until it is killed."""
    port, log, seed, *kind = sys.argv[1:]
    if kind == ["faultless"]:
        server = Server((), "slow", slow=ANSWER, port=int(port))
        server.log = Path(log)
        server.serve_forever(poll_interval=0.02)
    server = Server((), None, slow=SLOW, port=int(port))
    server.rates, server.random, server.log = RATES, Random(int(seed)), Path(log)
    # Half-way through the model behind the name is exchanged.
    told = server.log.read_text().count('["asked"') if server.log.exists() else 0
    server.swapped_after = SWAPPED_AFTER - told
    server.serve_forever(poll_interval=0.02)


SLOW = 5.0
"""Seconds that a slow answer takes: longer than one try may."""
ANSWER = 0.03
"""Seconds that an answer takes where nothing fails."""
SWAPPED_AFTER = 200
"""Requests."""

if __name__ == "__main__":
    main()
