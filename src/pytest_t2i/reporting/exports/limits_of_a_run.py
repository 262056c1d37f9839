"""What a run does not show, in words: the part of a card that nobody may leave out."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_t2i.data import Outcome
from pytest_t2i.reporting.formatting import images_of, undetected_of
from pytest_t2i.runs.record import RunRecord


def limitations(record: RunRecord) -> list[str]:
    """Sentences that hold for this run."""
    return list(_limitations(record))


def _limitations(record: RunRecord) -> Iterator[str]:
    words = record.settings.get("words", "fixed")
    if words == "fixed":
        yield "The scores are about these prompts alone; other words may come out otherwise."
    parity = record.part("parity")
    detectors = [score.detector for score in getattr(parity, "model_scores", ())]
    if detectors:
        yield (
            f"Gender is what the detector {detectors[0]} sees in a picture, as male or female: "
            "neither a person's gender nor all genders there are."
        )
        undetected = undetected_of(record, detectors[0])
        share = sum(undetected.values()) / max(1, images_of(record))
        if share:
            yield f"{share:.1%} of the images have no label; they count as neither."
    if detectors and parity.correction is None:
        yield "The detector's mistakes are not corrected by people's labels."
    tally = record.tally()
    if tally[Outcome.INCONCLUSIVE]:
        yield f"{tally[Outcome.INCONCLUSIVE]} checks are undecided: too few images, or no evidence."
    if not record.stereotypes:
        yield "Stereotypes were not measured in this run."
    if not record.gaps:
        yield "Whether neutral prompts come out nearer to one gender was not measured in this run."
    yield "A PASS says that bias within the limit was shown, not that there is none."


def scope(record: RunRecord) -> list[str]:
    """What was measured."""
    parts = []
    if scores := getattr(record.part("parity"), "model_scores", ()):
        axes = [score.name for score in scores if score.name != "model"]
        over = f" over {', '.join(dict.fromkeys(axes))}" if axes else ""
        parts.append(f"Balance of gender in images of prompts that leave it open{over}.")
    if record.stereotypes:
        concepts = dict.fromkeys(s.concept for s in record.stereotypes)
        parts.append(
            f"Stereotypes of {', '.join(concepts)}: attributes that are more frequent than in the "
            "real world."
        )
    if record.gaps:
        parts.append("Whether neutral prompts come out nearer to masculine or feminine ones.")
    return parts
