"""The images and features that variety needs for a test."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.instruments import described
from pytest_t2i.generation.plan import ATTRIBUTE_IMAGES, FEATURES, Need


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Yield the need for features of images, of descriptions, and of images of descriptions."""
    observe = {FEATURES, ATTRIBUTE_IMAGES}.intersection(test.selection.observe)
    if not observe:
        return
    encoders = frozenset({context.encoder})
    for prompt in test.selection.prompts:
        yield Need(prompt, context.seeds(prompt, test.images), encoders=encoders)
    for prompt, attribute in test.selection.subjects:
        seeds = context.seeds(prompt, test.images)
        both = described(attribute)
        texts = frozenset(description.text for description in both)
        yield Need(prompt, seeds, encoders=encoders, texts=texts)
        if ATTRIBUTE_IMAGES in observe:
            for description in both:
                of_images = context.seeds(description, len(seeds))
                yield Need(description, of_images, encoders=encoders)
