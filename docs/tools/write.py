"""Writes what is generated in docs/, or says with ``--check`` whether it is current.

python docs/tools/write.py [--check]
"""

from __future__ import annotations

import sys

import model_table
import option_table
import packages_picture


def main(arguments: list[str]) -> int:
    """Write or check; the exit code is 1 where something is out of date."""
    wanted = {
        packages_picture.PICTURE: packages_picture.draw(),
        option_table.PAGE: option_table.page(),
        model_table.TABLE: model_table.table(),
    }
    stale = [
        path
        for path, text in wanted.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if arguments == ["--check"]:
        for path in stale:
            print(f"{path} is out of date: run python docs/tools/write.py")
        return int(bool(stale))
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
        print(f"written: {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
