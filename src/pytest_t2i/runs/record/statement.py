"""The statement of a report: what people say about auditor, intended use, approver and so on.

Users write the statement into ``[tool.t2i.report]`` of their pyproject.toml; nothing in the
statement is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import MappingProxyType

from pytest_t2i.errors import FileFormatError, UnknownNameError, shown
from pytest_t2i.read_files import read_toml

PYPROJECT = "pyproject.toml"
TABLE = "tool.t2i.report"
BLANK = "not stated"
"""Text of an empty field in reports."""
TITLES: Mapping[str, str] = MappingProxyType(
    {
        "auditor": "Auditor",
        "organisation": "Organisation",
        "for_whom": "For whom",
        "intended_use": "Intended use",
        "population": "Population",
        "approver": "Approver",
        "annotators": "Annotators",
        "pictures": "Pictures",
    }
)
"""Name of a field -> its title in reports."""
MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "auditor": "who had this measured and is responsible for it",
        "organisation": "the auditor's organisation",
        "for_whom": "who asked for the report, and who will read it",
        "intended_use": "what the model will be used for",
        "population": "the people whom the intended use concerns",
        "approver": "who agreed to limits and results",
        "annotators": "who labelled images: how many, how chosen, how paid",
        "pictures": "where ready-made pictures come from: which model drew them, who chose them",
    }
)
"""Name of a field -> what to write there."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The statement of a report; an empty field is "".

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
    pictures: str = ""

    @property
    def is_given(self) -> bool:
        """Whether anything is stated."""
        return any(asdict(self).values())

    def rows(self) -> list[tuple[str, str]]:
        """Return (title, text) of every field; BLANK for an empty one."""
        return [(TITLES[name], text or BLANK) for name, text in asdict(self).items()]


def read_statement(file: Path) -> Statement:
    """Read the statement of a pyproject.toml; it is empty without the file or the table."""
    if not file.is_file():
        return Statement()
    tool = read_toml(file).get("tool", {})
    ours = tool.get("t2i", {}) if isinstance(tool, dict) else {}
    table = ours.get("report", {}) if isinstance(ours, dict) else {}
    if not isinstance(table, dict):
        raise FileFormatError(file, f"expected a table, got {shown(table)}.", where=f"[{TABLE}]")
    names = [field.name for field in fields(Statement)]
    for key, value in table.items():
        if key not in names:
            problem = str(UnknownNameError("key", key, names))
            raise FileFormatError(file, problem, where=f"[{TABLE}]")
        if not isinstance(value, str):
            problem = f"expected a text as {key!r}, got {shown(value)}."
            raise FileFormatError(file, problem, where=f"[{TABLE}]")
    return Statement(**{key: " ".join(value.split()) for key, value in table.items()})
