"""The pictures that the audit needs, and the observations of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_t2i import FINAL_LATENT, PLAIN, AskedTest, AuditContext, Need

from pytest_t2i_mitigation.mitigated.judges import judges_of

FIXTURE = "mitigated"


def asks(test: AskedTest) -> bool:
    """Return whether a test receives the audit's fixture."""
    return FIXTURE in test.selection.fixtures


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Yield neutral prompts, plain and mitigated, and prompts that name a gender."""
    if not asks(test) or context.mitigation is None:
        return
    first, second = judges_of(context, test.selection.asked("second_judge"))
    encoders = frozenset({context.encoder})
    texts = frozenset(three.neutral.text for three in test.selection.triplets)
    latents = "denoising" in (test.selection.asked("distances") or ())
    observe = frozenset({FINAL_LATENT} if latents else ())
    for three in test.selection.triplets:
        seeds = context.seeds(three.neutral, test.images)
        mitigated = Need(
            three.neutral,
            seeds,
            first.detectors | second.detectors,
            encoders,
            first.finders | second.finders,
            observe,
            texts=texts,
        )
        yield mitigated
        yield replace(mitigated, variation=PLAIN)
        for prompt in (three.feminine, three.masculine):
            yield Need(prompt, seeds, first.detectors, encoders, first.finders, observe)


def too_few_for_turns(cases: Sequence[AskedTest], bound: float, level: float) -> Iterator[str]:
    """Yield a note where even prompts would be inconclusive against the limit of turnover."""
    from pytest_t2i_mitigation.mitigated.intervals import images_for_turns

    images = max(test.planned for test in cases)
    prompts = sum(len(test.selection.triplets) for test in cases)
    enough = images_for_turns(prompts, bound, level)
    if enough is not None and images < enough:
        yield (
            f"with {images} images, {prompts} prompts that came out even would stay inconclusive "
            f"against turnover {bound:g}: take --t2i-images {enough} or more"
        )
