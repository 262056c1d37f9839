"""What people state of a report: who audits, for whom and why, and who approves of it.

It stands in ``[tool.t2i.report]`` of a project's pyproject.toml. Nothing here is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import MappingProxyType

from pytest_t2i.errors import FileFormatError, UnknownNameError, shown
from pytest_t2i.files import read_toml

PYPROJECT = "pyproject.toml"
TABLE = "tool.t2i.report"
BLANK = "not stated"
"""Shown in the place of a field that nobody filled in."""
TITLES: Mapping[str, str] = MappingProxyType(
    {
        "auditor": "Auditor",
        "organisation": "Organisation",
        "for_whom": "For whom",
        "intended_use": "Intended use",
        "population": "Population",
        "approver": "Approver",
        "annotators": "Annotators",
    }
)
"""Field -> how reports name it."""
MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "auditor": "who had this measured and answers for it",
        "organisation": "whose auditor that is",
        "for_whom": "who asked for the report, and who is to read it",
        "intended_use": "what the model is to be used for",
        "population": "whose pictures these shall be: the people that the use is about",
        "approver": "who agreed to limits and results",
        "annotators": "who labelled images: how many, how chosen, how paid",
    }
)
"""Field -> what is asked for."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What people state of a report; a field that nobody filled in is an empty text.

    >>> Statement(auditor="A. Auditor").rows()[:2]
    [('Auditor', 'A. Auditor'), ('Organisation', 'not stated')]
    """

    auditor: str = ""
    organisation: str = ""
    for_whom: str = ""
    intended_use: str = ""
    population: str = ""
    approver: str = ""
    annotators: str = ""

    def rows(self) -> list[tuple[str, str]]:
        """Title and text of every field; a blank one says that it is."""
        return [(TITLES[name], text or BLANK) for name, text in asdict(self).items()]


def read_statement(file: Path) -> Statement:
    """The statement of a pyproject.toml; a blank one where there is no file or no table.

    Raises:
        FileFormatError: names the key that is unknown or no text.
    """
    if not file.is_file():
        return Statement()
    tool = read_toml(file).get("tool", {})
    ours = tool.get("t2i", {}) if isinstance(tool, dict) else {}
    table = ours.get("report", {}) if isinstance(ours, dict) else {}
    if not isinstance(table, dict):
        raise FileFormatError(file, f"expected a table, got {shown(table)}.", where=f"[{TABLE}]")
    known = [field.name for field in fields(Statement)]
    for key, value in table.items():
        if key not in known:
            problem = str(UnknownNameError("key", key, known))
            raise FileFormatError(file, problem, where=f"[{TABLE}]")
        if not isinstance(value, str):
            problem = f"expected a text as {key!r}, got {shown(value)}."
            raise FileFormatError(file, problem, where=f"[{TABLE}]")
    return Statement(**{key: " ".join(value.split()) for key, value in table.items()})
