"""Face++: gender by the Detect HTTP API of Megvii (Lyu section 5.1 and Appendix A).

Every picture that is not black is sent to the service, as PNG, or as JPEG where the PNG would
exceed the limit of 2 MB. The largest face decides. The service gives no score, does not report the
version of its network, and can change the network at any time, so that measurements cannot be
repeated exactly; the provenance notes this.

Source: Detect API v3 (https://console.faceplusplus.com/documents/5679127). This project has never
used the real service: the tests use a local server that follows its documentation.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from PIL import Image

from pytest_t2i.adapters.detectors.screening import screened
from pytest_t2i.adapters.endpoints.addresses import is_address
from pytest_t2i.adapters.endpoints.answers import (
    SERVER_ERROR,
    TOO_MANY,
    UNAVAILABLE,
    BrokenPictureError,
    FinalFaultError,
    PassingFaultError,
    RedirectedError,
    fault_of,
    json_in,
)
from pytest_t2i.adapters.endpoints.deadlines import DeadlinePassedError
from pytest_t2i.adapters.endpoints.paid_requests import (
    CountedPart,
    Counter,
    PaidRequests,
    RemoteService,
)
from pytest_t2i.adapters.endpoints.parallel_calls import Pace
from pytest_t2i.adapters.endpoints.secrets import Secrets
from pytest_t2i.adapters.endpoints.shapes import at, items, text
from pytest_t2i.adapters.endpoints.spending import RunCounts
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Detection, Undetected, digest
from pytest_t2i.errors import ConfigurationError, DetectorError, T2IError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from pytest_t2i.adapters.detectors.judging import JudgeRun

with needs("the detector face++", "facepp"):
    from pytest_t2i.adapters.endpoints.http_client import Call, HttpClient


class Course(Enum):
    """How to go on after an error."""

    WAIT = auto()
    """The rate limit of the key: wait and send again."""
    RETRY = auto()
    """A temporary failure of the service: send again a few times."""
    RESIZE = auto()
    """The service refuses a picture of this size: send a smaller copy."""
    UNREADABLE = auto()
    """The service cannot read this picture; the others may be fine."""
    MULTIPLE = auto()
    """The service refuses to analyse more than one face in a picture."""
    STOP = auto()
    """No request will succeed until the user removes the cause."""


RATE_LIMIT, FAILURE = "CONCURRENCY_LIMIT_EXCEEDED", "INTERNAL_ERROR"
COURSES = {
    RATE_LIMIT: Course.WAIT,
    FAILURE: Course.RETRY,
    "IMAGE_DOWNLOAD_TIMEOUT": Course.RETRY,
    "Request Entity Too Large": Course.RESIZE,
    "INVALID_IMAGE_SIZE": Course.RESIZE,
    "IMAGE_FILE_TOO_LARGE": Course.RESIZE,
    "IMAGE_ERROR_UNSUPPORTED_FORMAT": Course.UNREADABLE,
    "TOO_MANY_FACE_ATTRIBUTES": Course.MULTIPLE,
    "AUTHENTICATION_ERROR": Course.STOP,
    "AUTHORIZATION_ERROR": Course.STOP,
    "INSUFFICIENT_PERMISSION": Course.STOP,
    "API_NOT_FOUND": Course.STOP,
    "MISSING_ARGUMENTS": Course.STOP,
    "BAD_ARGUMENTS": Course.STOP,
    "COEXISTENCE_ARGUMENTS": Course.STOP,
    "INVALID_IMAGE_URL": Course.STOP,
}
"""Documented name -> how to go on."""
COURSE_OF_STATUS = {413: Course.RESIZE, TOO_MANY: Course.WAIT}
"""HTTP status without a documented name -> the same; from 500 on it is RETRY, else STOP."""
DETAILS = {
    "api_key", "api_secret", "image_url", "image_file", "image_base64", "return_landmark",
    "return_attributes", "Denied by Client", "Denied by Admin", "Insufficient Account Balance",
}  # fmt: skip
"""Documented details behind a name."""
REMEDIES = {
    RATE_LIMIT: "The rate limit of the key was still exceeded after every wait. Run again later, "
    "use the key from one process only, or ask Face++ for more requests per second.",
    "AUTHENTICATION_ERROR": "Key and secret do not belong together. Check the environment "
    "variables FACEPP_API_KEY and FACEPP_API_SECRET, and that FACEPP_API_URL is the region that "
    "the key was made for.",
    "AUTHORIZATION_ERROR": "The key may not call the Detect API. Look at its state and balance in "
    "the Face++ console.",
    "INSUFFICIENT_PERMISSION": "The key's plan does not allow what was asked for. Use a standard "
    "API key.",
    "API_NOT_FOUND": "There is no Detect API at this address. Check FACEPP_API_URL; it ends with "
    "the host, such as https://api-us.faceplusplus.com.",
    FAILURE: "The service failed on every attempt. Run again later; what was detected before is "
    "kept.",
}
OTHER_REMEDY = (
    "The service did not take the form of the request, so its protocol has changed or the address "
    "belongs to another service. Check FACEPP_API_URL, and please report this."
)
NOT_DOCUMENTED = "without a list of faces, so it is not the Face++ Detect API as documented"
LABELS = ("male", "female")
OK = 200


class Face(NamedTuple):
    """One face in an answer."""

    width: float
    height: float
    gender: str
    """Male or Female as answered; "" where it is absent, and words of ours for any other text."""


class FaceAnswer(NamedTuple):
    """The service's answer for one picture, with documented texts only."""

    course: Course | None
    """How to go on after an error; None where the picture was analysed."""
    faces: tuple[Face, ...] = ()
    message: str = ""
    """The service's error message, as far as the message is documented."""


def read_faces(status: int, content: str) -> FaceAnswer:
    """Read an answer. No undocumented text is repeated, as it may hold the key in any encoding.

    Example:
        >>> read_faces(400, '{"error_message": "BAD_ARGUMENTS:x"}')
        FaceAnswer(course=<Course.STOP: 6>, faces=(), message='BAD_ARGUMENTS')
    """
    body = json_in(content)
    error = at(body, "error_message")
    if status == OK and error is None:
        if not isinstance(at(body, "faces"), list):
            return FaceAnswer(Course.STOP, message=NOT_DOCUMENTED)
        return FaceAnswer(None, tuple(map(_face, items(body, "faces"))))
    # A body that is no JSON is a proxy's page, or the plain text that refuses a large picture.
    name, colon, detail = (text(error) or content.strip()).partition(":")
    name = name.strip()
    if name in COURSES:
        is_documented = colon and detail.strip() in DETAILS
        return FaceAnswer(COURSES[name], message=f"{name}:{detail}" if is_documented else name)
    course = Course.RETRY if status >= SERVER_ERROR else Course.STOP
    return FaceAnswer(COURSE_OF_STATUS.get(status, course), message=f"HTTP status {status}")


def _face(face: Any) -> Face:
    sides = (at(face, "face_rectangle", name) for name in ("width", "height"))
    width, height = (side if isinstance(side, int | float) else 0.0 for side in sides)
    gender = text(at(face, "attributes", "gender", "value"))
    is_known = not gender or gender.lower() in LABELS
    return Face(width, height, gender if is_known else "none that is documented")


KEY, SECRET = "FACEPP_API_KEY", "FACEPP_API_SECRET"
"""Environment variables of key and secret."""


class Credentials(Secrets):
    """Key and secret, which the object's repr does not show."""

    __slots__ = ()

    def __init__(self, key: str, secret: str) -> None:
        super().__init__(key, secret)

    @classmethod
    def from_environment(cls) -> Credentials:
        """Read FACEPP_API_KEY and FACEPP_API_SECRET."""
        # No variable of this frame holds a value, as a traceback may show all variables.
        missing = [name for name in (KEY, SECRET) if not _value(name)]
        if missing:
            raise ConfigurationError(
                f"the detector face++ needs the environment variable {' and '.join(missing)}. "
                "Register at https://console.faceplusplus.com, make an API key, and set both "
                f"{KEY} and {SECRET}. They are read from the environment only, and not stored."
            )
        for name in (KEY, SECRET):
            if not (_value(name).isascii() and _value(name).isprintable()):
                raise ConfigurationError(
                    f"{name}: expected printable ASCII characters, got others: copy the value from "
                    "the Face++ console again"
                )
        return cls(_value(KEY), _value(SECRET))

    def form(self) -> dict[str, str]:
        """Key and secret as fields of a request's form."""
        return dict(zip(("api_key", "api_secret"), self._words, strict=True))


def _value(name: str) -> str:
    return os.environ.get(name, "").strip()


ADDRESS = "FACEPP_API_URL"
"""Environment variable with the address of the service, which also selects the region."""
DEFAULT_ADDRESS = "https://api-us.faceplusplus.com"
PATH = "/facepp/v3/detect"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
LONGEST_ADDRESS = 2000


def checked_address(address: str) -> str:
    """Check the address of the service and remove a final slash.

    Example:
        >>> checked_address("https://api-cn.faceplusplus.com/")
        'https://api-cn.faceplusplus.com'
    """
    is_plain = address.isprintable() and not set("@?# ") & set(address)
    if len(address) > LONGEST_ADDRESS or not is_plain or not is_address(address):
        raise ConfigurationError(
            f"{ADDRESS}: expected a URL without user name, query and fragment, such as "
            f"{DEFAULT_ADDRESS} or https://api-cn.faceplusplus.com. Correct the address."
        )
    parts = urlsplit(address)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ConfigurationError(
            f"{ADDRESS}={address!r} would send key and secret unencrypted. Use https."
        )
    return address.rstrip("/").removesuffix(PATH)


class Client(RemoteService[FaceAnswer]):
    """A client of the Detect API with one key; it sends pictures one after another."""

    nature = "the Face++ Detect API"

    def __init__(
        self,
        address: str,
        credentials: Credentials,
        limits: AnswerLimits = AnswerLimits(),  # noqa: B008 - frozen
    ) -> None:
        """Args: the address, the key and secret, and limits of answers."""
        if credentials.are_in(address):
            raise ConfigurationError(
                f"{ADDRESS} contains the key or the secret: give the address of the service alone, "
                f"such as {DEFAULT_ADDRESS}."
            )
        self.url = checked_address(address) + PATH
        self.run: JudgeRun | None = None
        """The run, which counts costs and failures; None outside of one."""
        self._credentials, self._http = credentials, HttpClient(self.url, limits)
        self._requests, self._pace = (
            PaidRequests[FaceAnswer](self, limits, credentials),
            Pace(most=1),
        )

    def __str__(self) -> str:
        return f"face++: {self.url}"

    @property
    def spending(self) -> Counter | None:
        """The run's counter of requests about pictures."""
        return None if self.run is None else self.run.spending

    @property
    def faults(self) -> RunCounts | None:
        return None if self.run is None else self.run.faults

    def failure(self, words: str, remedy: str) -> T2IError:
        return DetectorError(f"{self}: {words}. What was detected before is kept.{remedy}")

    def detect(self, picture: bytes) -> FaceAnswer:
        """Send one JPEG or PNG file until there is an answer about it."""
        return self._requests.send(lambda seconds: self._ask(picture, seconds), self._pace)

    def _ask(self, picture: bytes, seconds: float) -> FaceAnswer:
        """Send a picture once; no exception repeats what the service, or a library, says."""
        encoded = base64.b64encode(picture).decode()
        form = {**self._credentials.form(), "image_base64": encoded, "return_attributes": "gender"}
        try:
            reply = self._http.reply(Call(self.url, form=form), seconds)
        except (DeadlinePassedError, BrokenPictureError):
            raise
        except RedirectedError:
            raise FinalFaultError(f"its answer is a redirect. Check {ADDRESS}") from None
        except Exception as error:  # noqa: BLE001 - httpx raises many kinds, not all its own
            fault = fault_of(error) or PassingFaultError("")
            fault.args = (type(error).__name__,)
            raise fault from None
        status = reply.status_code
        answer = read_faces(status, reply.text)
        if answer.course not in {Course.WAIT, Course.RETRY, Course.STOP}:
            return answer
        words = f"it answered {NOT_DOCUMENTED}. Check {ADDRESS}"
        if answer.message != NOT_DOCUMENTED:
            name = answer.message.partition(":")[0]
            name = {Course.WAIT: RATE_LIMIT, Course.RETRY: FAILURE}.get(answer.course, name)
            remedy = REMEDIES.get(name, OTHER_REMEDY)
            words = f"it answered {answer.message!r} (HTTP status {status}). {remedy}"
        if answer.course is Course.STOP:
            stop = FinalFaultError(words)
            stop.is_free = status != OK
            raise stop
        is_busy = answer.course is Course.WAIT
        kind = "busy" if is_busy else "server error"
        is_free = is_busy or status == UNAVAILABLE
        raise PassingFaultError(words, is_free=is_free, is_busy=is_busy, kind=kind)


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
        return FacePlusPlus(
            Client(
                options.source or (os.environ.get(ADDRESS, "").strip() or DEFAULT_ADDRESS),
                credentials,
                options.answers,
            )
        )
    except ConfigurationError as error:
        problem = str(error)
    # Raised anew: the frames of the first error hold the address, which may contain the key.
    raise ConfigurationError(problem)


class FacePlusPlus(CountedPart):
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
        return {"service": self._client.url, "version": "not told by the service"}

    def join(self, run: JudgeRun) -> None:
        """Take part in a run: its counters of costs and failures."""
        self._client.run = run

    def detect(self, images: Sequence[Picture]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, lambda visible: [self._detect(picture) for picture in visible])

    def _detect(self, picture: Picture) -> Detection:
        answer = FaceAnswer(Course.UNREADABLE, message="no smaller copy was taken")
        for file in encodings(picture):
            answer = self._client.detect(file)
            if answer.course is not Course.RESIZE:
                break
        if answer.course is Course.MULTIPLE:
            return Detection(None, Undetected.MULTIPLE_PEOPLE, detail=answer.message)
        if answer.course is not None:
            return Detection(None, Undetected.UNREADABLE, detail=answer.message)
        return decide_faces(answer.faces)


def decide_faces(faces: Sequence[Face]) -> Detection:
    """The detection for a picture's faces: the gender of the largest one.

    Example:
        >>> decide_faces([Face(140, 141, "Female")]).label, decide_faces([]).undetected.value
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
