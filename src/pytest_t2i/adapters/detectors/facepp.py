"""Face++: gender by the Detect HTTP API of Megvii (Lyu section 5.1 and Appendix A).

Every picture that is not black is sent to the service, as PNG, or as JPEG where the PNG would
exceed the limit of 2 MB. The largest face decides. The service gives no score, does not report the
version of its network, and can change the network at any time, so that measurements cannot be
repeated exactly; the provenance notes this.

Source: Detect API v3 (https://console.faceplusplus.com/documents/5679127). This project has never
used the real service: the tests use a local server that follows its documentation.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from PIL import Image

from pytest_t2i.adapters.detectors.facepp_answers import Answer, Face
from pytest_t2i.adapters.detectors.facepp_client import (
    ADDRESS,
    DEFAULT_ADDRESS,
    Client,
)
from pytest_t2i.adapters.detectors.facepp_credentials import Credentials
from pytest_t2i.adapters.detectors.facepp_errors import Course
from pytest_t2i.adapters.detectors.screening import screened
from pytest_t2i.adapters.support.black_or_unreadable import picture_digest
from pytest_t2i.data import Detection, Undetected, digest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


LABELS = ("male", "female")
SMALLEST, LARGEST = 48, 4096
"""Smallest and largest side in pixels that the API accepts."""
BYTES = 2 * 2**20 * 3 // 4 - 4096
"""Largest file: 2 MB for the request, less base64's third and some bytes for the fields."""
SMALLER = (1024, 512)
"""Longest sides tried in turn when the service refuses a picture as too large."""
QUALITY = 95


def load(options: LoadOptions) -> FacePlusPlus:
    """Load the detector, with the key from the environment.

    Args:
        options: ``source`` is the address of the service; "" stands for the environment variable
            FACEPP_API_URL, else https://api-us.faceplusplus.com. No other option is used.

    Raises:
        ConfigurationError: FACEPP_API_KEY or FACEPP_API_SECRET is not set, or the address is
            invalid.
    """
    credentials = Credentials.from_environment()
    try:
        return FacePlusPlus(Client(options.source or _address(), credentials, options.answers))
    except ConfigurationError as error:
        problem = str(error)
    # Raised anew: the frames of the first error hold the address, which may contain the key.
    raise ConfigurationError(problem)


def _address() -> str:
    return os.environ.get(ADDRESS, "").strip() or DEFAULT_ADDRESS


class FacePlusPlus:
    """A Detector of the gender of the largest face. Pictures are sent one by one."""

    labels = LABELS

    def __init__(self, client: Client) -> None:
        """Args: client: the client of the service."""
        self._client = client

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the address and of the encoding of pictures, without key and secret."""
        return digest(["face++", self._client.url, SMALLEST, LARGEST, BYTES, SMALLER, QUALITY])

    @property
    def provenance(self) -> Mapping[str, str]:
        """The address of the service."""
        return {"service": self._client.url, "version": "not told by the service"}

    def detect(self, images: Sequence[Picture]) -> list[Detection]:
        """One detection per picture, in order.

        Raises:
            DetectorError: the service cannot be used; the message has the reason and the remedy.
        """
        return screened(images, lambda visible: [self._detect(picture) for picture in visible])

    def _detect(self, picture: Picture) -> Detection:
        seed = int.from_bytes(picture_digest(picture)[:8], "big")
        answer = Answer(Course.UNREADABLE, message="no smaller copy was taken")
        for file in encodings(picture):
            answer = self._client.detect(file, seed)
            if answer.course is not Course.RESIZE:
                break
        if answer.course is Course.MULTIPLE:
            return Detection(None, Undetected.MULTIPLE_PEOPLE, detail=answer.message)
        if answer.course is not None:
            return Detection(None, Undetected.UNREADABLE, detail=answer.message)
        return decide(answer.faces)


def decide(faces: Sequence[Face]) -> Detection:
    """The detection for a picture's faces: the gender of the largest one.

    Example:
        >>> decide([Face(140, 141, "Female")]).label, decide([]).undetected.value
        ('female', 'no_face')
    """
    if not faces:
        return Detection(None, Undetected.NO_FACE)
    largest = max(faces, key=lambda face: face.width * face.height)
    gender = largest.gender.lower()
    detail = "1 face" if len(faces) == 1 else f"{len(faces)} faces; the largest decides"
    if gender not in LABELS:
        answer = f"gender {largest.gender!r}" if gender else "no gender"
        return Detection(None, Undetected.LOW_CONFIDENCE, detail=f"{detail}; {answer}")
    return Detection(gender, detail=detail)


def encodings(picture: Picture) -> Iterator[bytes]:
    """Encodings of a picture within the API's limits, the most faithful first.

    There are none for a picture so long that no scale fits both limits of the sides.
    """
    for longest in (None, *SMALLER):
        copy = _scaled(picture, longest)
        if copy is None:
            return
        file = _encoded(copy, "PNG") if longest is None else b""
        if not file or len(file) > BYTES:
            file = _encoded(copy, "JPEG", quality=QUALITY)
        if len(file) <= BYTES:
            yield file


def _scaled(picture: Picture, longest: int | None) -> Picture | None:
    long, short = max(picture.size), min(picture.size)
    scale = longest / long if longest else min(1.0, LARGEST / long)
    scale = max(scale, SMALLEST / short)
    if long * scale > LARGEST + 1:
        return None
    if scale == 1.0:
        return picture
    size = tuple(min(LARGEST, max(SMALLEST, round(side * scale))) for side in picture.size)
    return picture.resize((size[0], size[1]), Image.Resampling.LANCZOS)


def _encoded(picture: Picture, form: str, **how: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **how)
    return buffer.getvalue()
