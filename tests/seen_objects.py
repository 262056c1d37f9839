"""Objects in the images of triplets, as a function of prompt and seed says, for tests."""

from __future__ import annotations

from pytest_t2i import triplet
from pytest_t2i.audits.objects.counts import Member
from pytest_t2i.audits.objects.measure import Objects
from pytest_t2i.data import Box, FoundObject, Variant

SEEDS = (0, 1)


class Seen:
    """Observations that come from a function of prompt and seed."""

    def __init__(self, names, *, draws=False):
        self.names, self.draws = names, draws

    def draws_anew(self):
        return self.draws

    def objects(self, prompt, seeds, finder):
        given = [self.names(prompt, seed) for seed in seeds]
        return [
            None if names is None else tuple(FoundObject(n, Box(0, 0, 1, 1)) for n in names)
            for names in given
        ]


def objects_of(names, triplets=20, seeds=SEEDS, *, draws=False, **how):
    members = tuple(Member(triplet(f"a person and {k} birds"), seeds) for k in range(triplets))
    how = {"least": 5, "level": 0.95, "seed": 0, **how}
    return Objects(members, "things", Seen(names, draws=draws), **how)


def of_gender(prompt, seed):
    shown = {Variant.MASCULINE: ["tie"], Variant.FEMININE: ["cup"], Variant.NEUTRAL: ["tie", "cup"]}
    return ["person", "hat", "hat", *shown[prompt.variant]]
