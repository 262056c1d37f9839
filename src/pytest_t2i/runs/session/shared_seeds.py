"""Seeds that several prompts share: one initial noise then shifts several prompts at once.

Whatever judges the model takes its prompts as independent. Where an image shares its seed with
images of m other prompts on average, the variance of a mean over prompts is up to 1 + m times what
the images show: exactly so where the noise alone determines what they show. With a tenth, a verdict
at 5 % is wrong in at most 6 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pytest_t2i.protocols import ReadyMade
from pytest_t2i.runs.session.prompt_ids import neutral_of
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.selection import KINDS, SelectedTest

MOST_SHARED = 0.1
"""Largest number of pictures of other prompts that have a picture's seed, on average over all
pictures, with which the model is judged."""
FEWEST = 2
"""Fewest prompts that can share a seed."""
OWN_SEEDS = (
    "Make pictures from the seeds that `t2i list prompts SUITE --manifest` gives, where every "
    "prompt has its own; leave the column seed out where seeds do not determine the pictures"
)
FEW_SEEDS = (
    "The model takes the seeds 0 to {most} alone (most_seed in its catalogue): ask for fewer "
    "images, or judge fewer prompts at once"
)


def why_seeds_prevent_verdict(results: Results, tests: Iterable[SelectedTest]) -> str:
    """Return why nothing of the model is judged; "" where prompts have seeds of their own.

    The variants of a triplet share theirs. Seeds say nothing where a model ignores them, or where
    ready-made pictures are only numbered.
    """
    session = results.session
    seeds_by_text: dict[str, set[int]] = {}
    for test in tests:
        members = (member for kind in KINDS for member in test.selection.members(kind))
        for prompt in map(neutral_of, members):
            seeds = seeds_by_text.setdefault(prompt.text, set())
            seeds.update(session.seeds(prompt, test.images))
    if len(seeds_by_text) < FEWEST:
        return ""
    handle, most = session.components.model(), session.components.most_seed
    model = handle.get() if handle.lists_images else None
    numbers = getattr(model, "numbers", None)
    images, of_seed = 0, Counter[int]()
    for text, seeds in seeds_by_text.items():
        images += len(seeds)
        of_seed.update(seeds - set(numbers(text) if numbers else ()))
    shared = [count for count in of_seed.values() if count > 1]
    others = sum(count * (count - 1) for count in shared) / max(images, 1)
    if others <= MOST_SHARED or results.observations.draws_anew():
        return ""
    remedy = OWN_SEEDS if isinstance(model, ReadyMade) else FEW_SEEDS.format(most=most)
    return (
        f"{sum(shared)} of {images} pictures share their seed with pictures of other prompts "
        f"(on average over all, {others:.2g} of them): one initial noise shifts several prompts "
        f"at once, and there is no verdict on the model. {remedy}"
    )
