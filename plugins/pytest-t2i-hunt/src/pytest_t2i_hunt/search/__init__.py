"""The hunt for the most biased combinations of words: search, shrinking, confirmation."""

from pytest_t2i_hunt.search.confirming import Confirmed
from pytest_t2i_hunt.search.counts import Counts, Measure, Parts, names
from pytest_t2i_hunt.search.hunt import HuntResult, hunt
from pytest_t2i_hunt.search.plan import HELD_OUT, Plan

__all__ = [
    "HELD_OUT",
    "Confirmed",
    "Counts",
    "HuntResult",
    "Measure",
    "Parts",
    "Plan",
    "hunt",
    "names",
]
