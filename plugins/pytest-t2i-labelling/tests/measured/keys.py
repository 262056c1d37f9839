"""How long the labelling page's server takes for a key, in a set of many labels.

Two annotators have labelled every picture; one changes labels. Beside it what the key cost when the
whole table was read and written for it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import uvicorn
from PIL import Image
from pytest_t2i import labels
from pytest_t2i.labels import Label

from pytest_t2i_labelling.desk import Annotation
from pytest_t2i_labelling.server import application, listening, unswept

HEADERS = {"Content-Type": "application/json"}


def write_set(folder, rows):
    """Pictures, and the labels of two annotators."""
    Image.new("RGB", (1, 1)).save(folder / "0.png")
    content = (folder / "0.png").read_bytes()
    names = [f"{k}.png" for k in range(rows // 2)]
    for name in names:
        (folder / name).write_bytes(content)
    said = [Label(name, "male", who, "", "a photo of a nurse") for name in names for who in "ab"]
    labels.write_labels(folder, said)


def timed(task):
    """Milliseconds that a task takes."""
    start = time.perf_counter()
    task()
    return 1000 * (time.perf_counter() - start)


def keys_by_page(folder, keys):
    """Milliseconds of each key, over HTTP and kept on disk."""
    desk = Annotation(folder, "a")
    with listening() as bound:
        server = uvicorn.Server(uvicorn.Config(application(desk), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        line = http.client.HTTPConnection(*bound.getsockname())
        line.connect()
        # It sends head and body apart; a browser does not, and waits for nobody's receipt.
        line.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def press(index):
            word = "female" if index % 2 else "male"
            line.request("POST", "/label", json.dumps({"index": index, "label": word}), HEADERS)
            answer = line.getresponse()
            assert json.loads(answer.read())["label"] == word

        with unswept():
            times = [timed(lambda k=k: press(k)) for k in range(keys)]
        server.should_exit = True
        line.close()
        thread.join(10)
    return times


def whole_table(folder):
    """Read and written for one word, as it was."""
    labels.write_labels(folder, labels.read_labels(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--keys", type=int, default=500)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_set(folder, asked.rows)
        times = keys_by_page(folder, asked.keys)
        low, mid, high = np.percentile(times, [50, 95, 100])
        print(f"{asked.rows} labels, {asked.keys} keys: median {low:.1f} ms, 95 % {mid:.1f} ms, "
              f"slowest {high:.1f} ms")  # fmt: skip
        merged = timed(lambda: labels.compact(folder))
        table = np.median([timed(lambda: whole_table(folder)) for _ in range(3)])
        print(f"merged into the table in {merged:.0f} ms when the page closes")
        print(f"a key that writes the table: {table:.0f} ms, {table / low:.0f} times as long")


if __name__ == "__main__":
    main()
