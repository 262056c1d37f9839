"""What a service is: a function that builds the request, and one that reads the answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_t2i.adapters.endpoints.addresses import OPENAI_ROUTES, netloc
from pytest_t2i.adapters.endpoints.aspects import requested_size
from pytest_t2i.adapters.endpoints.http_client import Call, HttpClient
from pytest_t2i.adapters.endpoints.shapes import at, items, text
from pytest_t2i.data import EMPTY, Money, Request
from pytest_t2i.protocols import AnswerLimits

ALL_SETTINGS = ("steps", "guidance", "width", "height", "negative_prompt")


class Picture(NamedTuple):
    """A picture in an answer."""

    content: str | bytes | Call
    """A data URL, an address, the file itself, or a call that answers with the file."""
    revised_prompt: str | None = None


class AnswerReading(NamedTuple):
    """What an answer says."""

    pictures: Sequence[Picture] = ()
    refusal: str = ""
    """Reason of a refusal beyond the shapes of ``refusals.toml``, also beside a picture."""
    failure: str = ""
    """Why a job has failed."""
    filtered: str = ""
    """Why an answer without picture and reason is a refusal, as documented."""
    used: str = ""
    """The model that made the picture, where the answer names it."""
    price: Money | None = None
    """What the picture cost, where the answer says so."""
    job: Call | None = None
    """The next look at a job that has not ended."""


def bearer(key: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {key}"}


class Service(NamedTuple):
    """A service of pictures."""

    name: str
    """Name in ``--t2i-model NAME:MODEL[@BASE_URL]``."""
    request: Callable[[str, Request], Call]
    """Model and request -> the call for one picture."""
    read: Callable[[str, Any], AnswerReading]
    """Model and answer -> what the answer says."""
    keys: tuple[str, ...] = ()
    """Environment variables of the key; the first that is set counts."""
    keys_of_hosts: Mapping[str, str] = EMPTY
    """Host -> variable of its key, which no other host gets."""
    address: str = ""
    """Base URL where none is given; "" where there is no default."""
    address_variable: str = ""
    """Environment variable of the base URL."""
    settings: tuple[str, ...] = ALL_SETTINGS
    """Settings that the service takes; another one that was given ends the run."""
    routes: str = OPENAI_ROUTES
    """Pattern of what requests append to the base URL, which users paste with it; its group
    ``model`` is a name, and ``{model}`` that of the model."""
    query: Callable[[], Mapping[str, str]] = dict
    """Parameters of requests, with underscores for hyphens."""
    needs_model: bool = True
    has_dates: bool = True
    """Whether names of models may have a date or a version behind them."""
    takes_extra: bool = True
    """Whether a request may have further fields."""
    header: Callable[[str], Mapping[str, str]] = bearer
    """Key -> its header."""
    sign: Callable[[Call, str], Call] | None = None
    """Call and address -> the call with a signature in place of a key."""
    version: Callable[[str], Call] | None = None
    """Model -> the request for its description."""
    versions: Callable[[str, Any, str], Mapping[str, str]] = lambda *_: EMPTY
    """Model, its description and the address -> its version."""
    fit: Callable[[str, Call, Any], Call] | None = None
    """Model, call and description -> the call as this model takes it."""
    is_described: bool = False
    """Whether ``fit`` needs the description."""
    client: Callable[[str, str, AnswerLimits], HttpClient] = (
        lambda address, _, limits: HttpClient(address, limits)
    )  # fmt: skip
    """Address, key and limits -> what sends the calls."""

    def key_variable(self, address: str) -> str:
        """The environment variable of the key for this base URL; "" for a signature."""
        if self.sign is not None:
            return ""
        variable = next(
            (name for name in self.keys if os.environ.get(name, "").strip()), self.keys[0]
        )
        return self.keys_of_hosts.get(netloc(address), variable)


def data_url(*values: Any) -> str:
    """The data URL of the first text, which is base64; "" where there is none."""
    letters = text(*values)
    return letters if not letters or letters[:5].lower() == "data:" else f"data:,{letters}"


def pictures_in_data(answer: Any) -> list[Picture]:
    return [
        Picture(content, text(at(entry, "revised_prompt")) or None)
        for entry in items(answer, "data")
        if (content := data_url(at(entry, "b64_json")) or text(at(entry, "url")))
    ]


def aspect_ratio(request: Request, ratios: str) -> str | None:
    """The ratio of a list that is nearest to the requested size; None where none was requested.

    A picture of another aspect than the requested one is an error later.
    """
    size = requested_size(request)
    if size is None:
        return None

    def stretch(ratio: str) -> float:
        width, height = map(int, ratio.split(":"))
        scaled = size[0] * height / (size[1] * width)
        return max(scaled, 1 / scaled)

    return min(ratios.split(), key=stretch)
