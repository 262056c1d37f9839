"""vlm: a vision-language model as a detector of closed labels, by a rubric, without torch.

``vlm:NAME[@BASE_URL][+attribute...]`` asks any endpoint with OpenAI's chat protocol; the key comes
from the environment. ``vlm:transformers/HUB_ID[+attribute...]`` loads weights. One request answers
all attributes; the judge may abstain (``unspecified``), and an answer that is none of the labels is
no label. Words in a picture are data: the rubric stands in the system message, and what the model
makes of them has to be measured (``t2i detector check``).
"""

from __future__ import annotations

import base64
import io
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.detectors.judging import (
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
from pytest_t2i.adapters.endpoints.addresses import (
    OPENAI_ROUTES,
    is_address,
    is_local,
    netloc,
    plain_address,
    without_route,
)
from pytest_t2i.adapters.endpoints.answers import BrokenPictureError, FinalFaultError, read_answer
from pytest_t2i.adapters.endpoints.paid_requests import Counter, PaidRequests, RemoteService
from pytest_t2i.adapters.endpoints.parallel_calls import Pace, ParallelCalls
from pytest_t2i.adapters.endpoints.reported_versions import versions_in, versions_words
from pytest_t2i.adapters.endpoints.secrets import secrets_of
from pytest_t2i.adapters.endpoints.spending import RunCounts
from pytest_t2i.adapters.languages.chat import REPORTED, Chat, by_schema
from pytest_t2i.adapters.registry import asked_for
from pytest_t2i.data import FactKind, digest
from pytest_t2i.errors import ConfigurationError, DetectorError, T2IError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

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
PROBE = "This is a trial with an empty picture. Judge it by the rubric all the same."
EMPTY = 128
"""Shade of grey of the picture of a trial."""
REJECTED = {400, 413, 415, 422}
"""HTTP statuses with which a server rejects one request, and goes on with others."""
LEFT_OUT = "asked without"
"""Name, beside those of the version, of the fields that the server does not take."""
BUILD, OR = "system_fingerprint", " or "
"""Field of an answer that tells one build of a model from the next, and what joins several."""
PATIENCE, PATIENCE_OF_LIST = 30.0, 5.0
"""Seconds to wait for a version that is known from earlier runs, and for the list of models."""
PIN = (
    "to pin one, name a dated version of the model, one deployment or provider, or the address of "
    "one server behind the balancer"
)


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
        with asked_for("detector", "vlm:transformers"):
            from pytest_t2i.adapters.detectors.vlm_transformers import load_panel

        return Judge(load_panel(name.model.removeprefix(LOCAL), question, options), rubrics[0])
    return Judge(ChatPanel(*_split(name.model), question, options.answers), rubrics[0])


def _split(source: str) -> tuple[str, str]:
    """Model and base URL of ``MODEL[@BASE_URL]``."""
    base_url = os.environ.get(BASE_URL, "").strip() or OPENAI
    model, address = source, without_route(BASE_URL, base_url, OPENAI_ROUTES)
    if match := re.fullmatch(r"(.*?)@(https?://.*)", source, re.IGNORECASE):
        model, address = match[1], without_route("vlm:NAME@BASE_URL", match[2], OPENAI_ROUTES)
        if set("@?#") & set(address):
            raise ConfigurationError(
                "vlm:NAME@BASE_URL: expected an address without user, query and fragment, which "
                "reports would show"
            )
    if not model:
        raise ConfigurationError("vlm: expected the name of a model: vlm:NAME[@BASE_URL]")
    if not is_address(address):
        url = address.rpartition("@")[2].partition("?")[0]
        raise ConfigurationError(
            f"vlm:{model}: expected a base URL such as http://127.0.0.1:8000/v1, got {url!r}"
        )
    return model, address


class JudgeChangedError(DetectorError, ChangedError):
    """A judge reports another version than at the start of the run."""


class ChatPanel(Panel, RemoteService[Reply]):
    """A model behind an endpoint with OpenAI's chat protocol."""

    nature = "a judge of pictures"

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
        self._chat = Chat(model, address, lambda: self._key, limits, self._note)
        self._requests = PaidRequests[Reply](self, limits, secrets_of(self._key, address))
        self._pace = Pace(limits.at_once)
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
        """Model, address, version, what is sent besides, and the size and form of pictures."""
        left_out = self._chat.left_out
        without = {LEFT_OUT: ", ".join(sorted(left_out))} if left_out else {}
        return {
            "model": self.model,
            "endpoint": self.address,
            "version": versions_words({**(self._versions or {}), **without}) or "not told",
            "temperature": "not sent" if "temperature" in left_out else "0",
            "response_format": "not sent" if "response_format" in left_out else "json_schema",
            "pictures": f"{FORM}, longest side {LONGEST_SIDE}",
        }

    # a service, for PaidRequests

    @property
    def spending(self) -> Counter | None:
        """The run's counter of judged pictures."""
        return self.run.spending

    @property
    def faults(self) -> RunCounts | None:
        return self.run.faults

    def refused(self, words: str) -> Reply:
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
        plain = self._plain
        if plain not in run.versions:
            with run.alone() if run.alone is not None else nullcontext():
                run.versions[plain] = self._learned(plain)
        reported = dict(run.versions[plain])
        self._chat.left_out = frozenset(filter(None, reported.pop(LEFT_OUT, "").split(", ")))
        self._versions = reported

    @property
    def _plain(self) -> str:
        """Hash of the judge without its version."""
        return digest(["judge-version", self.model, self.address])

    def _learned(self, plain: str) -> Mapping[str, str]:
        memory, of_run = self.run.memory, FactKind.JUDGE_VERSION.of(plain, self.run.shared_id)
        if self.run.shared_id and (of_workers := memory.fact(of_run)) is not None:
            return dict(of_workers)
        before: Mapping[str, str] | None = memory.fact(FactKind.JUDGE_VERSION.of(plain))
        try:
            versions = _with_builds(self._told(patient=before is None), before or {})
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
        if OR in versions.get(BUILD, ""):
            self.run.say(
                f"{self} answers from several builds, {versions[BUILD]}, as one judge; {PIN}"
            )
        if versions != before:
            memory.remember(FactKind.JUDGE_VERSION.of(plain), dict(versions))
        if self.run.shared_id:
            memory.remember(of_run, dict(versions))
        return versions

    def _told(self, *, patient: bool) -> dict[str, str]:
        """The version in the list of models and in an answer, and what the server does not take.

        The picture of a trial tells both, so that what is learned of one picture changes no other.
        """
        if patient:
            reply = self._requests.send(partial(self._tried, learns=True), self._pace)
        else:
            outcome = self._requests.once_paid(partial(self._tried, learns=True), PATIENCE)
            if isinstance(outcome, T2IError):
                raise outcome
            reply = outcome
        left_out = ", ".join(sorted(self._chat.left_out))
        return {**self._listed(), **reply.versions, **({LEFT_OUT: left_out} if left_out else {})}

    def _tried(self, seconds: float, *, learns: bool) -> Reply:
        """Ask about an empty picture."""
        from PIL import Image as Images

        url = _data_url(Images.new("L", (64, 64), EMPTY))
        return self._reply(self._messages(url, PROBE), seconds, learns=learns)

    def _listed(self) -> dict[str, str]:
        answer = self._requests.once(lambda: self._chat.models(PATIENCE_OF_LIST), PATIENCE_OF_LIST)
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
        builds = before.get(BUILD, "").split(OR)
        changed = {name for name, words in now.items() if before[name] != words}
        if not changed or (changed == {BUILD} and now[BUILD] in builds):
            return
        next_judge = "the new one"
        if changed == {BUILD}:
            versions = {
                **self.run.versions[self._plain],
                BUILD: OR.join(sorted([*builds, now[BUILD]])),
            }
            self.run.memory.remember(FactKind.JUDGE_VERSION.of(self._plain), versions)
            next_judge = "these builds as one judge, which the record names"
        raise JudgeChangedError(
            f"{self} has changed while it judged: it was {versions_words(before)}, now it is "
            f"{versions_words(now)}. No verdict rests on two judges: nothing that the new one "
            f"said is kept. Run again, and all pictures are judged by {next_judge}; {PIN}"
        )

    # pictures

    def replies(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Reply]]:
        """Ask about several pictures at the same time; yield each answer when it is there."""
        by_name = {task.name: task for task in tasks}

        def judged(name: str) -> Reply:
            messages = self._messages(_data_url(by_name[name].picture), TASK)
            ask = partial(self._taken_or_rejected, messages)
            return self._requests.send(ask, self._pace, lambda: flight.is_over)

        flight = ParallelCalls(judged, self._limits.at_once)
        for name, reply in flight.run(by_name):
            self._compare(reply.versions)
            if reply.problem:
                self._note(f"gave no answer about a picture: {reply.problem}")
            yield by_name[name], self._without_key(reply)

    def _taken_or_rejected(self, messages: Sequence[Mapping[str, Any]], seconds: float) -> Reply:
        """Ask once; a server that still takes an empty picture has rejected this one."""
        until = time.monotonic() + seconds
        try:
            return self._reply(messages, seconds, learns=self._versions is None)
        except FinalFaultError as error:
            if error.status not in REJECTED:
                raise
            with suppress(FinalFaultError):
                self._tried(until - time.monotonic(), learns=False)
                return Reply(refusal=str(error))  # the trial is paid, the rejection is not
            raise

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

    def _reply(
        self, messages: Sequence[Mapping[str, Any]], seconds: float, *, learns: bool
    ) -> Reply:
        """Ask once; raise the error that an answer holds in the place of a text."""
        answer = self._chat.ask(
            messages,
            seconds,
            learns=learns,
            response_format=by_schema("judgement", self.question.schema),
            temperature=0,
        )
        versions = {
            n: line for n, words in answer.versions.items() if (line := bounded_line(words))
        }
        if answer.refusal:
            return Reply(refusal=answer.refusal, versions=versions)
        if answer.problem.endswith(("choice", "message")):
            raise BrokenPictureError("expected the answer of a chat, got something else")
        if "{" not in answer.text and (words := read_answer(answer.text).refusal):
            return Reply(refusal=words, versions=versions)
        return Reply(answer.text, versions=versions, problem=answer.problem)

    def _note(self, words: str) -> None:
        self.run.say(f"{self} {words}")


def _with_builds(versions: dict[str, str], before: Mapping[str, str]) -> dict[str, str]:
    builds, build = before.get(BUILD, "").split(OR), versions.get(BUILD)
    if len(builds) == 1 or build is None or {**before, BUILD: build} != versions:
        return versions
    return {**versions, BUILD: OR.join(sorted({*builds, build}))}


def _data_url(picture: Image) -> str:
    """The picture as PNG, without any text that its file held, at most LONGEST_SIDE long."""
    return f"data:image/{FORM};base64,{base64.b64encode(encoded(picture)).decode()}"


def encoded(picture: Image) -> bytes:
    from PIL import Image as Images

    copy = picture.convert("RGB")
    if max(copy.size) > LONGEST_SIDE:
        copy.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Images.Resampling.LANCZOS)
    copy.info = {}
    buffer = io.BytesIO()
    copy.save(buffer, FORM.upper())
    return buffer.getvalue()
