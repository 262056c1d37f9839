"""Server of the labelling page, for this machine alone (Starlette on uvicorn).

Pictures are requested by number, so no path ever comes from the browser. The server listens on
loopback only. It refuses requests whose Host header names another machine (a page elsewhere could
otherwise reach it by DNS rebinding), and requests from pages of another origin.
"""

from __future__ import annotations

import gc
import io
import json
import mimetypes
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn
from pytest_t2i import T2IError, labels
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pytest_t2i_labelling.desk import Desk
from pytest_t2i_labelling.page import Page

HOST = "127.0.0.1"
LAST_PORT = 65535
MOST_BYTES = 1 << 16
"""The size of the largest request; a label and its reason take a few hundred bytes."""
LOOPBACK = ["localhost", "127.0.0.1", "::1", "[::1]"]
"""The names of this machine; some versions of Starlette need the brackets."""
SHOWN_BY_BROWSERS = {"image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp"}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PICTURE_HEADERS = {**HEADERS, "Cache-Control": "private, max-age=600"}
"""Headers of pictures, which a browser may cache, so that one fetched ahead shows at once."""


def application(desk: Desk) -> Starlette:
    """Return the application: the page, its pictures, and its changes of labels.

    ``GET /``; ``GET /image/3``; ``POST /label`` with index, label and reason; ``POST /undo`` with
    index. Both posts answer with the picture's new entry.
    """
    handlers = _Handlers(desk)
    routes = [
        Route("/", handlers.page),
        Route("/favicon.ico", lambda _: Response(status_code=204, headers=HEADERS)),
        Route("/image/{index}", handlers.image),
        Route("/label", handlers.label, methods=["POST"]),
        Route("/undo", handlers.undo, methods=["POST"]),
    ]
    # The order is that in which a request passes them. No redirect to a www. host is wanted.
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK, www_redirect=False)
    return Starlette(routes=routes, middleware=[hosts, Middleware(OwnPageOnly)])


class OwnPageOnly:
    """Middleware that answers 403 to requests from pages of another origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and not _is_ours(Request(scope)):
            refusal = Response("Only pages of this machine are served.", 403, HEADERS)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_ours(request: Request) -> bool:
    origin = request.headers.get("origin")
    try:
        return origin is None or urlsplit(origin).netloc == request.headers.get("host", "")
    except ValueError:
        return False


class _Handlers:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._page = Page()
        # Keys are texts, as a number may have more digits than int() parses.
        self._numbered = {str(index): file for index, file in enumerate(desk.files)}

    # Starlette runs plain functions in threads, as they read whole files.

    def page(self, request: Request) -> Response:
        del request
        html, policy = self._page.render(self._desk)
        content = html.encode(errors="backslashreplace")
        return HTMLResponse(content, headers={**HEADERS, "Content-Security-Policy": policy})

    def image(self, request: Request) -> Response:
        file = self._numbered.get(request.path_params["index"])
        if file is None:
            return Response("No such picture.", 404, HEADERS)
        path = labels.picture_file(self._desk.folder, file)
        if path is None:
            return Response("The picture is gone.", 404, HEADERS)
        kind = mimetypes.guess_type(path.name)[0]
        if kind in SHOWN_BY_BROWSERS:
            return FileResponse(path, media_type=kind, headers=PICTURE_HEADERS)
        return _converted(path)

    async def label(self, request: Request) -> Response:
        return await self._change(request, "label")

    async def undo(self, request: Request) -> Response:
        return await self._change(request, "undo")

    async def _change(self, request: Request, what: str) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0]
        if kind != "application/json":
            return _problem("expected application/json", 415)
        try:
            asked = json.loads(await _body(request))
        except ClientDisconnect:
            return _problem("expected the whole request", 400)
        except (ValueError, RecursionError):
            return _problem(f"expected JSON of at most {MOST_BYTES} bytes", 400)
        # Not in a thread: writing the log takes a millisecond, waking two threads on a busy machine
        # takes many.
        return self._changed(asked, what)

    def _changed(self, asked: object, what: str) -> Response:
        fields = asked if isinstance(asked, dict) else {}
        index, label, reason = fields.get("index"), fields.get("label"), fields.get("reason", "")
        if type(index) is not int or not 0 <= index < len(self._desk.files):
            return _problem(f"expected the number of a picture, got index={index!r}", 400)
        try:
            if what == "undo":
                self._desk.take_back(index)
            elif isinstance(label, str) and isinstance(reason, str):
                self._desk.put(index, label, reason)
            else:
                return _problem("expected label and reason as texts", 400)
            return _json(dict(self._desk.entry(index)), 200)
        except ValueError as error:
            return _problem(str(error), 400)
        except (T2IError, OSError) as error:
            return _problem(str(error), 500)


async def _body(request: Request) -> bytes:
    """Return the body of a request; raise ValueError as soon as it exceeds MOST_BYTES."""
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > MOST_BYTES:
            raise ValueError(len(content))
    return bytes(content)


def _converted(path: Path) -> Response:
    """Return a picture that browsers do not show (such as TIFF) as PNG."""
    picture = labels.open_picture(path)
    if picture is None:
        return Response("The picture cannot be read.", 404, HEADERS)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return Response(buffer.getvalue(), media_type="image/png", headers=PICTURE_HEADERS)


def _problem(message: str, status: int) -> Response:
    return _json({"problem": message}, status)


def _json(value: object, status: int) -> Response:
    """Return a value as JSON in ASCII: a name may hold half a surrogate pair."""
    return Response(json.dumps(value), status, HEADERS, media_type="application/json")


def listening(port: int = 0) -> socket.socket:
    """Return a socket on the loopback address; port 0 takes a free one.

    Raises:
        T2IError: the port is taken or not allowed.
    """
    try:
        if not 0 <= port <= LAST_PORT:
            raise OSError(f"a port is 0 to {LAST_PORT}")  # noqa: TRY301 - one message for all
        bound = socket.create_server((HOST, port))
    except OSError as error:
        raise T2IError(
            f"--port {port} of {HOST} cannot be used: {error}. Leave --port out to take a free one."
        ) from None
    # Without this, the second packet of an answer waits 40 ms for the receipt of the first. asyncio
    # sets it only for sockets that it makes. Connections inherit it from this socket.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def address(bound: socket.socket) -> str:
    return f"http://{HOST}:{bound.getsockname()[1]}/"


@contextmanager
def unswept() -> Iterator[None]:
    """Exclude all present objects from garbage collection in this context.

    With 100,000 labels, a collection takes a fifth of a second, in which a key press would wait.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def serve(desk: Desk, bound: socket.socket) -> None:
    """Serve the page until interrupted (Ctrl+C)."""
    config = uvicorn.Config(application(desk), log_level="warning", server_header=False)
    with unswept():
        uvicorn.Server(config).run(sockets=[bound])
