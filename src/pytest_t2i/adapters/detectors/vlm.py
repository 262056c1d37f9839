"""vlm: a vision-language model as a detector of closed labels, by a rubric, without torch.

``vlm:NAME[@BASE_URL][+attribute...]`` asks any endpoint with OpenAI's chat protocol; the key comes
from the environment. ``vlm:transformers/HUB_ID[+attribute...]`` loads weights. One request answers
all attributes; the judge may abstain (``unspecified``), and an answer that is none of the labels is
asked for once more and then is no label. Words in a picture are data: the rubric stands in the
system message, and what the model makes of them has to be measured (``t2i detector check``).
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from threading import Lock
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.detectors.judging import (
    VERSION,
    ChangedError,
    Judge,
    JudgeRun,
    Panel,
    Reply,
    Task,
)
from pytest_t2i.adapters.detectors.rubrics import (
    LONGEST_ANSWER,
    JudgeName,
    RubricQuestion,
    bounded_line,
    rubrics_of,
)
from pytest_t2i.adapters.languages.addresses import is_address
from pytest_t2i.adapters.models.answers import (
    BAD_REQUEST,
    UNPROCESSABLE,
    BrokenPictureError,
    FinalFaultError,
    fault_in,
    read_answer,
)
from pytest_t2i.adapters.models.endpoints import Counter, PaidRequests
from pytest_t2i.adapters.models.reported_versions import versions_in, versions_words
from pytest_t2i.adapters.support.hosts import is_local, netloc, plain_address
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.adapters.support.parallel_calls import Pace, ParallelCalls
from pytest_t2i.adapters.support.secrets import secrets_of
from pytest_t2i.adapters.support.spending import FaultCounts
from pytest_t2i.data import Detection, digest
from pytest_t2i.errors import (
    ConfigurationError,
    DetectorError,
    T2IError,
    printable,
)
from pytest_t2i.protocols import AnswerLimits, LoadOptions

with needs("the detector vlm", "endpoints"):
    from pytest_t2i.adapters.models.http_client import Call, HttpClient

if TYPE_CHECKING:
    from PIL.Image import Image

LOCAL = "transformers/"
"""Beginning of the name of a judge whose weights are loaded here."""
BASE_URL, OPENAI = "VLM_BASE_URL", "https://api.openai.com/v1"
"""Environment variable of the address, and the address where none is given."""
KEY = "VLM_API_KEY"
KEYS_OF_HOSTS = {
    "api.openai.com": "OPENAI_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}
"""Host -> environment variable of its key, which no other host gets; others get ``KEY``."""
LONGEST_SIDE = 768
"""Longest side in pixels of the picture that is sent; larger ones are made smaller."""
FORM = "png"
TASK = "Judge this picture by the rubric."
REMINDER = (
    " Your last answer could not be used: answer with the JSON object alone, and with the labels "
    "exactly as the rubric writes them."
)
PROBE = "Answer with the word ready."
OPTIONAL = ("response_format", "temperature")
"""Fields that a server may not take."""
PATIENCE = 5.0
"""Seconds to wait for a version that is known from earlier runs."""


def load(options: LoadOptions) -> Judge:
    """Load a judge.

    Args:
        options: ``source`` is ``NAME[@BASE_URL][+attribute...]`` or
            ``transformers/HUB_ID[+attribute...]``; an attribute is a shipped rubric or the path of
            a file ``.toml``; without one it is gender.

    Raises:
        ConfigurationError: the name, the address, the key or a rubric is missing or wrong.
    """
    name = JudgeName.read(options.source)
    rubrics = rubrics_of(name)
    question = RubricQuestion(rubrics)
    if name.model.startswith(LOCAL):
        from pytest_t2i.adapters.detectors.vlm_transformers import load_panel

        return Judge(load_panel(name.model.removeprefix(LOCAL), question, options), rubrics[0])
    return Judge(ChatPanel(*_split(name.model), question, options.answers), rubrics[0])


def _split(source: str) -> tuple[str, str]:
    """Model and base URL of ``MODEL[@BASE_URL]``."""
    model, address = source, os.environ.get(BASE_URL, "").strip() or OPENAI
    if match := re.fullmatch(r"(.*?)@(https?://.*)", source, re.IGNORECASE):
        model, address = match[1], match[2]
        if set("@?#") & set(address):
            raise ConfigurationError(
                "vlm:NAME@BASE_URL: expected an address without user, query and fragment, which "
                "reports would show"
            )
    if not model:
        raise ConfigurationError("vlm: expected the name of a model: vlm:NAME[@BASE_URL]")
    if not is_address(address):
        shown = address.rpartition("@")[2].partition("?")[0]
        raise ConfigurationError(
            f"vlm:{model}: expected a base URL such as http://127.0.0.1:8000/v1, got {shown!r}"
        )
    return model, address


class JudgeChangedError(DetectorError, ChangedError):
    """A judge reports another version than at the start of the run."""


class ChatPanel(Panel):
    """A model behind an endpoint with OpenAI's chat protocol."""

    retries_charged = False
    """A request that may have been charged is not sent again."""

    def __init__(
        self, model: str, address: str, question: RubricQuestion, limits: AnswerLimits
    ) -> None:
        """Args: the model's name there, the base URL, the question, and limits of answers."""
        super().__init__(f"vlm:{model} at {netloc(address)}", question)
        self.model, self.address, self._limits = model, plain_address(address), limits
        self._key_variable = KEYS_OF_HOSTS.get(netloc(address), KEY)
        if not self._key and not is_local(address):
            raise ConfigurationError(
                f"{self} needs a key: set the environment variable {self._key_variable} (an "
                "endpoint on this machine or in its network needs none)"
            )
        if not (self._key.isascii() and self._key.isprintable()):
            raise ConfigurationError(
                f"{self._key_variable}: expected printable ASCII characters, got others: set the "
                "variable again"
            )
        self._client = HttpClient(address, limits)
        self._requests = PaidRequests[Reply](self, limits, secrets_of(self._key, address))
        self._pace, self._lock = Pace(limits.at_once), Lock()
        self._not_taken: set[str] = set()
        self._versions: Mapping[str, str] | None = None
        self._mentioned: Mapping[str, str] = {}

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def _key(self) -> str:
        return os.environ.get(self._key_variable, "").strip()

    @property
    def facts(self) -> Mapping[str, str]:
        """Model, address, version, temperature, and the size and form of pictures."""
        return {
            "model": self.model,
            "endpoint": self.address,
            "version": versions_words(self._versions or {}) or "not told",
            "temperature": "0",
            "pictures": f"{FORM}, longest side {LONGEST_SIDE}",
        }

    # a service, for PaidRequests

    @property
    def spending(self) -> Counter | None:
        """The run's counter of judged pictures."""
        return self.run.spending

    @property
    def faults(self) -> FaultCounts | None:
        """The run's counter of failures."""
        return self.run.faults

    def give_up(self) -> None:
        """Requests of other threads go on."""

    def say(self, line: str) -> None:
        """Show a note on stderr, without the key."""
        print(printable(f"{self}: {self._requests.shown(line)}"), file=sys.stderr, flush=True)  # noqa: T201

    def refused(self, words: str) -> Reply:
        """A refusal by policy."""
        return Reply(refusal=words)

    def unusable(self, words: str) -> Reply:
        """An answer that says nothing."""
        del words
        return Reply()

    def is_refused(self, answer: Reply) -> bool:
        """Whether the judge's policy forbids an answer."""
        return bool(answer.refusal)

    # the version

    def join(self, run: JudgeRun) -> None:
        """Take part in a run: learn the version, which is part of the fingerprint."""
        super().join(run)
        plain = digest(["judge-version", self.model, self.address])
        if plain not in run.versions:
            with run.alone() if run.alone is not None else nullcontext():
                run.versions[plain] = self._learned(plain)
        self._versions = run.versions[plain]

    def _learned(self, plain: str) -> Mapping[str, str]:
        memory, of_run = self.run.memory, f"{VERSION}:{plain}:{self.run.shared_id}"
        if self.run.shared_id and (of_workers := memory.fact(of_run)) is not None:
            return dict(of_workers)
        before: Mapping[str, str] | None = memory.fact(f"{VERSION}:{plain}")
        try:
            versions = self._told(patient=before is None)
        except T2IError as error:
            if before is None:
                raise
            words = versions_words(before) or "none"
            self.run.say(
                f"{self} does not tell its version now ({error}): the last is assumed, {words}"
            )
            versions = dict(before)
        if before is not None and versions != before:
            self.run.say(
                f"{self} has another version than before, {versions_words(versions)}; it was "
                f"{versions_words(before) or 'not told'}: pictures are judged anew"
            )
        if versions != before:
            memory.remember(f"{VERSION}:{plain}", dict(versions))
        if self.run.shared_id:
            memory.remember(of_run, dict(versions))
        return versions

    def _told(self, *, patient: bool) -> dict[str, str]:
        """The version in the list of models, and in the answer to a short question."""

        def ask(seconds: float) -> Reply:
            return self._reply(self._body([{"role": "user", "content": PROBE}], ()), seconds)

        if patient:
            reply = self._requests.send(ask, self._pace)
        else:
            outcome = self._requests.once_paid(ask, PATIENCE)
            if isinstance(outcome, T2IError):
                raise outcome
            reply = outcome
        return {**self._listed(), **reply.versions}

    def _listed(self) -> dict[str, str]:
        call = Call("models", headers=self._headers, method="GET")
        answer = self._requests.once(lambda: self._client.answer(call, PATIENCE), PATIENCE)
        if isinstance(answer, T2IError | bytes):
            return {}
        versions = versions_in(answer, self.model, is_local=is_local(self.address))
        return {name: bounded_line(self._requests.shown(words)) for name, words in versions.items()}

    def check(self) -> None:
        """Raise JudgeChangedError where the list of models has another version than before."""
        versions = self._versions or {}
        if versions.keys() - set(REPORTED):
            now = self._listed()
            if now:
                self._compare({**versions, **now})

    def _compare(self, now: Mapping[str, str]) -> None:
        if self._versions is None:
            return
        # What the first question was not told is compared from its first mention on.
        before = {**now, **self._mentioned, **self._versions}
        self._mentioned = {**now, **self._mentioned}
        if all(before[name] == words for name, words in now.items()):
            return
        raise JudgeChangedError(
            f"{self} has changed while it judged: it was {versions_words(before) or 'not told'}, "
            f"now it is {versions_words(now)}. No verdict rests on two judges: nothing that the "
            "new one said is kept. Run again, and all pictures are judged by the new one"
        )

    # pictures

    def replies(
        self, tasks: Sequence[Task], read: Callable[[Reply], Mapping[str, Detection]]
    ) -> Iterator[tuple[Task, Mapping[str, Detection]]]:
        """Ask about several pictures at the same time; yield each answer when it is there."""
        by_name = {task.name: task for task in tasks}
        flight: ParallelCalls[str, tuple[list[Reply], Mapping[str, Detection]]] = ParallelCalls(
            lambda name: self._judged(by_name[name].picture, read, lambda: flight.is_over),
            self._limits.at_once,
        )
        for name, (replies, detections) in flight.run(by_name):
            self.run.requests[self.name] += len(replies)
            for reply in replies:
                self._compare(reply.versions)
            yield by_name[name], detections

    def _judged(
        self,
        picture: Image,
        read: Callable[[Reply], Mapping[str, Detection]],
        is_over: Callable[[], bool],
    ) -> tuple[list[Reply], Mapping[str, Detection]]:
        url, replies, readings = _data_url(picture), list[Reply](), list[Mapping[str, Detection]]()
        for words in (TASK, TASK + REMINDER):
            body = self._body(self._messages(url, words), tuple(OPTIONAL))
            replies.append(
                self._requests.send(lambda s, body=body: self._reply(body, s), self._pace, is_over)  # type: ignore[misc]
            )
            readings.append(read(self._without_key(replies[-1])))
            if self.is_complete(readings[-1]):
                break
        return replies, self.completed(*readings)

    def _without_key(self, reply: Reply) -> Reply:
        """The reply as it may be kept and shown."""
        text = self._requests.shown(reply.text, LONGEST_ANSWER) if self._key else reply.text
        return reply._replace(text=text, refusal=self._requests.shown(reply.refusal))

    def _messages(self, url: str, words: str) -> list[dict[str, Any]]:
        content = [
            {"type": "text", "text": words},
            {"type": "image_url", "image_url": {"url": url}},
        ]
        return [
            {"role": "system", "content": self.question.text},
            {"role": "user", "content": content},
        ]

    def _body(self, messages: list[dict[str, Any]], optional: Sequence[str]) -> dict[str, Any]:
        schema = {"name": "judgement", "strict": True, "schema": self.question.schema}
        fields = {
            "response_format": {"type": "json_schema", "json_schema": schema},
            "temperature": 0,
        }
        more = {name: fields[name] for name in optional}
        return {"model": self.model, "messages": messages, "stream": False, **more}

    @property
    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def _reply(self, body: Mapping[str, Any], seconds: float) -> Reply:
        """Send a request once, without the fields that the server does not take."""
        until = time.monotonic() + seconds
        sent = {name: value for name, value in body.items() if name not in self._not_taken}
        call = Call("chat/completions", sent, headers=self._headers)
        try:
            return _read(self._client.answer(call, max(until - time.monotonic(), 0.001)))
        except FinalFaultError as error:
            name = _not_taken(str(error), sent)
            if name is None:
                raise
            with self._lock:
                is_new = name not in self._not_taken
                self._not_taken.add(name)
        if is_new:
            self.run.say(f"{self} does not take {name.replace('_', ' ')}, which is left out")
        return self._reply(body, until - time.monotonic())


REPORTED = ("model", "system_fingerprint")
"""Fields of an answer that tell the version."""


def _not_taken(words: str, body: Mapping[str, Any]) -> str | None:
    """A field that the server does not take; None where the error is another one."""
    if not words.startswith((f"HTTP {BAD_REQUEST}", f"HTTP {UNPROCESSABLE}")):
        return None
    names = [name for name in OPTIONAL if name in body]
    named = (
        name for name in names if re.search(rf"\b{name}\b|\b{name.partition('_')[0]}\b", words)
    )
    # Some servers do not say which field it is; schemas are the one that most of them lack.
    return next(named, next(iter(names), None))


def _read(answer: Any) -> Reply:
    """The text of an answer; raises the error that it holds in the place of one."""
    choice = _at(_at(answer, "choices"), 0)
    message = _at(choice, "message")
    content = _at(message, "content")
    if isinstance(content, list):
        parts = [_at(part, "text") for part in content]
        content = " ".join(part for part in parts if isinstance(part, str))
    versions = {name: words for name in REPORTED if (words := bounded_line(_at(answer, name)))}
    refusal = _at(message, "refusal")
    if _at(choice, "finish_reason") == "content_filter" or (isinstance(refusal, str) and refusal):
        words = refusal if isinstance(refusal, str) and refusal else "the content filter"
        return Reply(refusal=" ".join(words.split()), versions=versions)
    if not isinstance(content, str):
        content = ""
    if not content and message is None:
        raise _fault(answer)
    if "{" not in content and (words := read_answer(content).refusal):
        return Reply(refusal=words, versions=versions)
    return Reply(content, versions=versions)


def _fault(answer: Any) -> T2IError:
    text = json.dumps(answer).encode() if not isinstance(answer, bytes) else b""
    return fault_in(text) or BrokenPictureError("expected the answer of a chat, got something else")


def _at(value: Any, name: str | int) -> Any:
    """A value in an answer; None where the answer has another shape."""
    if isinstance(value, Mapping) and isinstance(name, str):
        return value.get(name)
    if isinstance(value, list) and isinstance(name, int) and name < len(value):
        return value[name]
    return None


def _data_url(picture: Image) -> str:
    """The picture as PNG, without any text that its file held, at most LONGEST_SIDE long."""
    return f"data:image/{FORM};base64,{base64.b64encode(encoded(picture)).decode()}"


def encoded(picture: Image) -> bytes:
    """The file that a judge gets for a picture."""
    from PIL import Image as Images

    copy = picture.convert("RGB")
    if max(copy.size) > LONGEST_SIDE:
        copy.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Images.Resampling.LANCZOS)
    copy.info = {}
    buffer = io.BytesIO()
    copy.save(buffer, FORM.upper())
    return buffer.getvalue()
