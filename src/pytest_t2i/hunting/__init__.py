"""The hunt for the most biased combinations of words: search, shrinking, confirmation."""

from pytest_t2i.hunting.confirming import Confirmed
from pytest_t2i.hunting.counts import Counts, Measure, Parts, names
from pytest_t2i.hunting.hunt import Hunted, hunt
from pytest_t2i.hunting.plan import HELD_OUT, Plan

__all__ = ["HELD_OUT", "Confirmed", "Counts", "Hunted", "Measure", "Parts", "Plan", "hunt", "names"]
