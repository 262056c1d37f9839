"""Write the table of parts whose code was moved and whose detections stay valid.

    PYTHONPATH=tests:tests/golden:tests/trials python tests/golden/keep_digests.py

It maps the digest of each part's code to the one in ``data/fingerprints.txt``. Run it where code
was moved or renamed only; the tests of the parts show that their detections are equal.
"""

from __future__ import annotations

import json
import re

from record import DATA, fingerprints

from pytest_t2i.adapters.support import code

HEAD = """# Digest of a part's code in this version = that of an earlier one with equal detections.
# Written by tests/golden/keep_digests.py.
[digests]
"""
ROW = re.compile(r'"([^"]+)": "([0-9a-f]{64})"')


def main() -> None:
    """Write the table."""
    code._kept = dict  # the digests as they are
    before = ROW.findall((DATA / "fingerprints.txt").read_text())
    # A part that the record does not have yet keeps its own digest.
    recorded = {name for name, _ in before}
    present = [(name, now) for name, now in ROW.findall(fingerprints()) if name in recorded]
    pairs = zip(present, before, strict=True)
    rows = {now: then for (name, now), (same, then) in pairs if name == same and now != then}
    text = "".join(
        f"{json.dumps(now)} = {json.dumps(then)}\n" for now, then in sorted(rows.items())
    )
    code.KEPT.write_text(HEAD + text)


if __name__ == "__main__":
    main()
