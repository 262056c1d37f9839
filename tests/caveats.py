"""What the caveats of a check of run.json say."""

from __future__ import annotations


def facts_of(check, name):
    """The facts of the only caveat of this name; None without one."""
    found = [caveat["facts"] for caveat in check["caveats"] if caveat["name"] == name]
    return found[0] if found else None


def remarks_of(check):
    """What all caveats say, one line each."""
    return [caveat["message"] for caveat in check["caveats"] if caveat["message"]]


def how_decided(check):
    """What decided a comparison with a recorded run."""
    return facts_of(check, "decided by")["how"]


def moved_of(check):
    """The facts of the prompts that probably moved, the likeliest first."""
    return [each["facts"] for each in check["caveats"] if each["name"] == "moved prompt"]
