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
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from PIL import Image

from pytest_t2i.adapters.detectors.screening import screened
from pytest_t2i.adapters.endpoints.answers import (
    BrokenPictureError,
    FinalFaultError,
    PassingFaultError,
    RedirectedError,
    fault_of,
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
from pytest_t2i.adapters.endpoints.spending import FaultCounts
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Detection, Undetected, digest
from pytest_t2i.errors import ConfigurationError, DetectorError, T2IError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from pytest_t2i.adapters.detectors.judging import JudgeRun

ENTITY_TOO_LARGE = "Request Entity Too Large"
TOO_MANY_REQUESTS = "CONCURRENCY_LIMIT_EXCEEDED"


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


COURSES = {
    TOO_MANY_REQUESTS: Course.WAIT,
    "INTERNAL_ERROR": Course.RETRY,
    "IMAGE_DOWNLOAD_TIMEOUT": Course.RETRY,
    ENTITY_TOO_LARGE: Course.RESIZE,
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

DETAILS = {
    *("api_key", "api_secret", "image_url", "image_file", "image_base64", "return_landmark"),
    *("return_attributes", "Denied by Client", "Denied by Admin", "Insufficient Account Balance"),
}
"""Documented details behind a name."""

_ARGUMENTS = (
    "The service did not take the form of the request, so its protocol has changed or the address "
    "belongs to another service. Check FACEPP_API_URL, and please report this."
)
REMEDIES = {
    TOO_MANY_REQUESTS: "The rate limit of the key was still exceeded after every wait. Run again "
    "later, use the key from one process only, or ask Face++ for more requests per second.",
    "AUTHENTICATION_ERROR": "Key and secret do not belong together. Check the environment "
    "variables FACEPP_API_KEY and FACEPP_API_SECRET, and that FACEPP_API_URL is the region that "
    "the key was made for.",
    "AUTHORIZATION_ERROR": "The key may not call the Detect API. Look at its state and balance in "
    "the Face++ console.",
    "INSUFFICIENT_PERMISSION": "The key's plan does not allow what was asked for. Use a standard "
    "API key.",
    "API_NOT_FOUND": "There is no Detect API at this address. Check FACEPP_API_URL; it ends with "
    "the host, such as https://api-us.faceplusplus.com.",
    "INTERNAL_ERROR": "The service failed on every attempt. Run again later; what was detected "
    "before is kept.",
    "IMAGE_DOWNLOAD_TIMEOUT": "The service failed on every attempt. Run again later.",
}
"""Documented name -> remedy; the remedy of all other names is ``_ARGUMENTS``."""


def course_of(status: int, message: str) -> Course:
    """How to go on after an answer with this HTTP status and error message.

    Example:
        >>> course_of(403, "CONCURRENCY_LIMIT_EXCEEDED"), course_of(400, "BAD_ARGUMENTS:x")
        (<Course.WAIT: 1>, <Course.STOP: 6>)
    """
    name = name_of(message)
    if name in COURSES:
        return COURSES[name]
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return Course.RESIZE
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Course.WAIT
    return Course.RETRY if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Course.STOP


def name_of(message: str) -> str:
    """The documented name at the head of an error message.

    Example:
        >>> name_of("AUTHORIZATION_ERROR:Denied by Admin")
        'AUTHORIZATION_ERROR'
    """
    return message.partition(":")[0].strip()


def documented(message: str) -> str:
    """The documented part of an error message; "" where there is none.

    The service, or a proxy, may echo the key in more encodings than can be searched for. So no
    undocumented text is repeated.

    Example:
        >>> documented("AUTHORIZATION_ERROR:Denied by Admin"), documented("BAD_ARGUMENTS: k3y")
        ('AUTHORIZATION_ERROR:Denied by Admin', 'BAD_ARGUMENTS')
        >>> documented("no such key: k3y")
        ''
    """
    name, detail = name_of(message), message.partition(":")[2]
    if name not in COURSES:
        return ""
    return f"{name}:{detail}" if detail.strip() in DETAILS else name


def remedy_for(message: str) -> str:
    """The remedy for an error that ends a run."""
    return REMEDIES.get(name_of(message), _ARGUMENTS)


NOT_DOCUMENTED = "without a list of faces, so it is not the Face++ Detect API as documented"
GENDERS = {"male", "female"}
OTHER = "none that is documented"
"""Stands for an undocumented gender, which is not repeated."""


class Face(NamedTuple):
    """One face in an answer."""

    width: float
    height: float
    gender: str
    """Male or Female as answered; "" where it is absent, OTHER for any other text."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The service's answer for one picture, with documented texts only."""

    course: Course | None
    """How to go on after an error; None where the picture was analysed."""
    faces: tuple[Face, ...] = ()
    message: str = ""
    """The service's error message, as far as the message is documented."""
    status: int = 200
    """HTTP status."""


class _Rectangle(msgspec.Struct):
    """Size of a face."""

    width: float = 0.0
    height: float = 0.0


class _Gender(msgspec.Struct):
    """Gender of a face."""

    value: str = ""


class _Attributes(msgspec.Struct):
    """Requested attributes of a face."""

    gender: _Gender = msgspec.field(default_factory=_Gender)


class _Face(msgspec.Struct):
    """One face; other keys are ignored."""

    face_rectangle: _Rectangle = msgspec.field(default_factory=_Rectangle)
    attributes: _Attributes = msgspec.field(default_factory=_Attributes)


class _Body(msgspec.Struct):
    """Body of an answer."""

    faces: list[_Face] | None = None
    error_message: str | None = None


BODY = msgspec.json.Decoder(_Body)
"""Built once, before several threads read their first answer at the same time."""


def read_answer(status: int, text: str) -> Answer:
    """Parse an answer.

    Example:
        >>> read_answer(400, '{"error_message": "BAD_ARGUMENTS:x"}').course
        <Course.STOP: 6>
    """
    try:
        body = BODY.decode(text)
    except (ValueError, RecursionError):
        body = None
    if status == HTTPStatus.OK and (body is None or body.error_message is None):
        if body is None or body.faces is None:
            return Answer(Course.STOP, message=NOT_DOCUMENTED)
        return Answer(None, tuple(map(_face, body.faces)))
    # A body that is no JSON is a proxy's page, or the plain text that refuses a large picture.
    error_text = (body.error_message if body else text.strip()) or ""
    message = documented(error_text) or f"HTTP status {status}"
    return Answer(course_of(status, message), message=message, status=status)


def _face(face: _Face) -> Face:
    box, gender = face.face_rectangle, face.attributes.gender.value
    label = gender if not gender or gender.lower() in GENDERS else OTHER
    return Face(box.width, box.height, label)


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


with needs("the detector face++", "facepp"):
    import httpx

    from pytest_t2i.adapters.endpoints.http_client import Call, HttpClient

ADDRESS = "FACEPP_API_URL"
"""Environment variable with the address of the service, which also selects the region."""
DEFAULT_ADDRESS = "https://api-us.faceplusplus.com"
PATH = "/facepp/v3/detect"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def checked_address(address: str) -> str:
    """Check the address of the service and remove a final slash.

    Example:
        >>> checked_address("https://api-cn.faceplusplus.com/")
        'https://api-cn.faceplusplus.com'
    """
    if not _is_address(address):
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


def _is_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        # Otherwise an address that only httpx refuses would fail during a request.
        host = httpx.URL(address).host and parts.hostname
        _ = parts.port
    except (ValueError, httpx.InvalidURL):
        return False
    plain = "@" not in parts.netloc and not parts.query and not parts.fragment
    is_line = address.isprintable() and " " not in address
    return parts.scheme in {"https", "http"} and bool(host) and plain and is_line


class Client(RemoteService[Answer]):
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
        self._requests, self._pace = PaidRequests[Answer](self, limits, credentials), Pace(most=1)

    def __str__(self) -> str:
        return f"face++: {self.url}"

    @property
    def spending(self) -> Counter | None:
        """The run's counter of requests about pictures."""
        return None if self.run is None else self.run.spending

    @property
    def faults(self) -> FaultCounts | None:
        """The run's counter of failures."""
        return None if self.run is None else self.run.faults

    def failure(self, words: str, remedy: str) -> T2IError:
        """The error of a detector."""
        return DetectorError(f"{self}: {words}. What was detected before is kept.{remedy}")

    def detect(self, picture: bytes) -> Answer:
        """Send one JPEG or PNG file until there is an answer about it."""
        return self._requests.send(lambda seconds: self._ask(picture, seconds), self._pace)

    def _ask(self, picture: bytes, seconds: float) -> Answer:
        """Send a picture once; no exception repeats what the service, or a library, says."""
        form = {
            **self._credentials.form(),
            "image_base64": base64.b64encode(picture).decode(),
            "return_attributes": "gender",
        }
        try:
            reply = self._http.reply(Call(self.url, form=form), seconds)
        except (DeadlinePassedError, BrokenPictureError):
            raise
        except RedirectedError:
            raise FinalFaultError(f"its answer is a redirect. Check {ADDRESS}") from None
        except Exception as error:  # noqa: BLE001 - httpx raises many kinds, not all its own
            fault = fault_of(error) or PassingFaultError("")
            words = type(error).__name__
            if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
                # Nothing was sent yet, so the message cannot echo the key.
                words = f"{words}: {self._credentials.hide_in(str(error))}"
            fault.args = (words,)
            raise fault from None
        answer = read_answer(reply.status_code, reply.text)
        if answer.course in {Course.WAIT, Course.RETRY}:
            is_busy = answer.course is Course.WAIT
            raise PassingFaultError(
                _complaint(answer),
                is_free=is_busy or answer.status == HTTPStatus.SERVICE_UNAVAILABLE,
                is_busy=is_busy,
                kind="busy" if is_busy else "server error",
            )
        if answer.course is Course.STOP:
            stop = FinalFaultError(_complaint(answer))
            stop.is_free = answer.status != HTTPStatus.OK
            raise stop
        return answer


def _complaint(answer: Answer) -> str:
    if answer.message == NOT_DOCUMENTED:
        return f"it answered {NOT_DOCUMENTED}. Check {ADDRESS}"
    documented = {Course.WAIT: TOO_MANY_REQUESTS, Course.RETRY: "INTERNAL_ERROR"}
    remedy = remedy_for(documented.get(answer.course or Course.STOP, name_of(answer.message)))
    return f"it answered {answer.message!r} (HTTP status {answer.status}). {remedy}"


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
        """The address of the service."""
        return {"service": self._client.url, "version": "not told by the service"}

    def join(self, run: JudgeRun) -> None:
        """Take part in a run: its counters of costs and failures."""
        self._client.run = run

    def detect(self, images: Sequence[Picture]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, lambda visible: [self._detect(picture) for picture in visible])

    def _detect(self, picture: Picture) -> Detection:
        answer = Answer(Course.UNREADABLE, message="no smaller copy was taken")
        for file in encodings(picture):
            answer = self._client.detect(file)
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
