"""How to go on after each documented error of Face++: send again, undetected, or stop.

Source: Detect API v3, "Unique ERROR_MESSAGE of this API" and "Common ERROR_MESSAGE". A message
is a name, often followed by a colon and a detail (``BAD_ARGUMENTS:return_attributes``); a request
that is too large is answered in plain text.
"""

from __future__ import annotations

from enum import Enum, auto
from http import HTTPStatus

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
