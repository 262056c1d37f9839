"""What a trial came to: how often it was tried, and every fault with how to see it again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

SHOWN = 5
"""Faults that a row of the table names."""


@dataclass
class Tally:
    """One trial."""

    name: str
    wanted: str
    done: int = 0
    """Attacks carried out."""
    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    def tried(self, kind: str, times: int = 1) -> None:
        """An attack of this kind was carried out."""
        self.done += times
        self.kinds[kind] += times

    def check(self, holds: object, words: str) -> None:
        """A fault unless it holds; the words say where."""
        if not holds:
            self.faults.append(words)

    @property
    def row(self) -> str:
        """A row of the table."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        faults = "none" if not self.faults else f"{len(self.faults)}: "
        faults += "; ".join(fault.replace("|", "/") for fault in self.faults[:SHOWN])
        facts = "".join(f"; {name}: {value}" for name, value in self.facts.items())
        return f"| {self.name} | {self.done} | {kinds}{facts} | {self.wanted} | {faults} |"


HEAD = "| trial | times | of them | wanted | faults |\n|---|---|---|---|---|"
