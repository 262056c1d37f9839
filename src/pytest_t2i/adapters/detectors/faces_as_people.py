"""What detectors of people say of the labelled faces of a picture (protocols.CountsPeople)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_t2i.data import Detection, Undetected
from pytest_t2i.protocols import PEOPLE


def counted_faces(groups: Sequence[str], faces: Sequence[str | None]) -> Detection:
    """Return the detection of a picture from the label of each face, the largest face first.

    None is the label of a face whose presentation is unclear.

    >>> counted_faces(("male", "female"), ["female", None, "male"]).scores
    {'people': 3.0, 'male': 1.0, 'female': 1.0}
    """
    groups_found = {group: float(faces.count(group)) for group in groups}
    scores = {PEOPLE: float(len(faces)), **groups_found}
    if not faces:
        return Detection(None, Undetected.NO_FACE, scores, "no face")
    counts = [f"{faces.count(group)} {group}" for group in groups if group in faces]
    unclear = faces.count(None)
    counts += [f"{unclear} unclear"] if unclear else []
    faces_in_words = "1 face" if len(faces) == 1 else f"{len(faces)} faces"
    detail = f"{faces_in_words}: {', '.join(counts)}; in front {faces[0] or 'unclear'}"
    if faces[0] is None:
        return Detection(None, Undetected.LOW_CONFIDENCE, scores, detail)
    return Detection(faces[0], None, scores, detail)
