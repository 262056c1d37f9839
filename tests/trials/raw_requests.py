"""Bytes over a socket to the labelling page as it is served: broken, endless, slow, too many.

``requests_to_label.py`` asks the application; here the server is asked, which reads the bytes.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

from label_kills import port_of, write_pictures
from processes import Child, start
from small_project import has_traceback, last_lines, run_t2i
from tally import Tally

from pytest_t2i.labels import read_labels

WANTED = "0 labels changed, 0 files told, 0 tracebacks, served on, memory grows by 64 MiB at most"
SECRET = "nobody outside of the folder sees this"
PATIENCE = 20.0
"""Seconds in which a good request is answered, whatever else goes on."""
MOST_MEMORY = 64 << 20
ASKED = json.dumps({"index": 10**6, "label": "male", "reason": ""}).encode()
"""Of a picture that is none: that a request is read in one way or another changes nothing."""
HOST = "Host: 127.0.0.1:{port}\r\n"


def _posted(body: bytes, length: int | str | None = None, more: str = "") -> bytes:
    told = len(body) if length is None else length
    head = f"POST /label HTTP/1.1\r\n{HOST}Content-Type: application/json\r\n"
    return f"{head}{more}Content-Length: {told}\r\n\r\n".encode() + body


def _chunked(chunks: list[bytes]) -> bytes:
    head = f"POST /label HTTP/1.1\r\n{HOST}Content-Type: application/json\r\n"
    return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"".join(chunks)


def _chunk(content: bytes) -> bytes:
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


def _get(path: bytes, more: str = "") -> bytes:
    return b"GET " + path + f" HTTP/1.1\r\n{HOST}{more}\r\n".encode()


def _endless(random: Random) -> bytes:
    """More than any label takes; whole, as one that is read would be."""
    asked = {"index": 1, "label": "male", "reason": "x" * random.choice((1 << 17, 96 << 20))}
    return _posted(json.dumps(asked).encode())


Make = Callable[[Random], bytes]
KINDS: dict[str, Make] = {
    "no HTTP": lambda random: random.randbytes(random.randrange(1, 4000)),
    "cut off": lambda random: _posted(ASKED, 4000),
    "length that lies": lambda random: _posted(
        ASKED, random.choice(("-1", "1e3", "9" * 40, "0x10", ""))
    ),
    "two lengths": lambda random: _posted(
        ASKED, more=f"Content-Length: {random.randrange(200)}\r\n"
    ),
    "length and chunks": lambda random: _posted(
        _chunk(ASKED) + b"0\r\n\r\n", 5, "Transfer-Encoding: chunked\r\n"
    ),
    "broken chunks": lambda random: _chunked(
        [random.choice((b"zz\r\n", b"-5\r\n", b"f" * 30 + b"\r\n", b"5\r\nab")), b"{}\r\n"]
    ),
    "long headers": lambda random: _get(b"/", f"X: {'y' * random.choice((70_000, 900_000))}\r\n"),
    "many headers": lambda random: _get(b"/", "".join(f"X-{k}: {k}\r\n" for k in range(9000))),
    "path": lambda random: _get(
        random.choice(
            (
                b"//etc/passwd",
                b"/image/../../secret.txt",
                b"/image/%2e%2e%2fsecret.txt",
                b"http://evil.example/",
                b"/image/\xff\xfe",
                b"/image/0?x=/../secret.txt",
                b"*",
                b"/image/" + b"9" * 60_000,
            )
        )
    ),
    "two at once": lambda random: _get(b"/secret.txt") + _get(b"/image/../secret.txt"),
    "other protocol": lambda random: random.choice(
        (
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET /\r\n",
            b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n",
        )
    ),
    "upgrade": lambda random: _get(
        b"/", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"
    ),
    "endless label": _endless,
    "no host": lambda random: (
        b"POST /label HTTP/1.1\r\nContent-Type: application/json\r\n"
        + f"Content-Length: {len(ASKED)}\r\n\r\n".encode()
        + ASKED
    ),
}


def attacks(random: Random) -> Iterator[tuple[str, bytes]]:
    """Every kind in turn, without end."""
    while True:
        for name, make in KINDS.items():
            yield name, make(random)


def send(port: int, content: bytes, wait: float = 3.0) -> bytes:
    """What the server answers until it closes, or for so long."""
    answer = bytearray()
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.settimeout(wait)
        with suppress(OSError):
            connection.sendall(content.replace(b"{port}", str(port).encode()))
            connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(1 << 16):
            answer += part
    return bytes(answer)


def hold(port: int, until: threading.Event) -> None:
    """Many connections that say a letter now and then, as long as it is wanted."""
    held: list[socket.socket] = []
    for _ in range(200):
        with suppress(OSError):
            held.append(socket.create_connection(("127.0.0.1", port), PATIENCE))
    while not until.wait(0.1):
        for one in held:
            with suppress(OSError):
                one.send(b"X")
    for one in held:
        one.close()


def memory(child: Child) -> int:
    """Bytes that the process holds."""
    told = Path(f"/proc/{child.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", told)
    return int(found[1]) << 10 if found else 0


def is_served(port: int) -> bool:
    """Whether a good request is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", "/image/0")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def go(folder: Path, times: int, seed: int = 0) -> Tally:
    """So many attacks; beside every tenth two hundred slow connections are held open."""
    tally, random = Tally("bytes sent to the labelling page", WANTED), Random(seed)
    pictures = write_pictures(folder / "people")
    (folder / "secret.txt").write_text(SECRET)
    (pictures / "labels.csv").write_text("file,label,annotator\n00.png,female,ada\n")
    before = read_labels(pictures)
    child = start(run_t2i("label", "page", str(pictures), "--annotator", "ada"), folder)
    port = port_of(child)
    is_served(port)
    held = memory(child)
    for number, (kind, content) in enumerate(attacks(random)):
        if number == times or child.has_ended():
            break
        words = f"{kind}, number {number}"
        over = threading.Event()
        slow = threading.Thread(target=hold, args=(port, over))
        if number % 10 == 0:
            slow.start()
            tally.tried("with 200 slow connections")
        else:
            tally.tried(kind)
        answer = send(port, content)
        first = answer.split(b"\r\n", 1)[0]
        harmless = (
            b"long headers",
            b"many headers",
            b"two at once",
            b"upgrade",
            b"path",
            b"no HTTP",
        )
        is_refused = not answer or re.match(rb"HTTP/1\.[01] [45]", first)
        tally.check(is_refused or kind.encode() in harmless, f"{words}: {first[:60]!r}")
        tally.check(SECRET.encode() not in answer, f"{words}: tells a file beyond the folder")
        tally.check(is_served(port), f"{words}: not served any more")
        if slow.is_alive():
            over.set()
            slow.join()
        tally.check(read_labels(pictures) == before, f"{words}: changed a label")
    grown = memory(child) - held if not child.has_ended() else 0
    tally.check(not child.has_ended(), f"ended: {last_lines(child.told)}")
    tally.check(grown <= MOST_MEMORY, f"memory grew by {grown >> 20} MiB")
    tally.facts["memory"] = f"grew by {grown / 2**20:.0f} MiB"
    if not child.has_ended():
        child.kill()
    child.wait(PATIENCE)
    tally.check(not has_traceback(child.told), last_lines(child.told))
    return tally
