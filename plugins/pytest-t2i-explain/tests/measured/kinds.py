"""Real cases of every kind of culprit, from pictures to answer; the table is kinds.md.

``python tests/measured/kinds.py FOLDER`` takes about half an hour on two busy cores. Each case
records a baseline, runs the new model, and explains the run, by the commands of a user. Beside the
culprit another part changed that does next to nothing. The pictures lie in one store: the same
command goes on where it ended.
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import plants
from pytest_t2i import audit, axes
from pytest_t2i.cli.main import main as t2i
from pytest_t2i.data import GenerationSettings, Request
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.store import Store
from pytest_t2i.runs.record.baseline import save_baseline
from pytest_t2i.settings import Settings

TABLE = Path(__file__).with_name("kinds.md")
WORDS = (
    ("nurse", "judge", "engineer", "lawyer"),
    ("CEO", "teacher", "dentist", "writer"),
    ("chef", "artist", "doctor", "singer"),
)
IMAGES = 12
REWRITTEN = "person", "man"
"""The word that the engine of a service replaces, and by what."""


@dataclass(frozen=True)
class Kind:
    """Cases of one kind of change."""

    name: str
    culprit: str
    old: str
    new: str
    settings: dict[str, Any] = field(default_factory=dict)
    """Options of the new run alone."""
    plant: str = ""
    """Name of the part that is made first."""


KINDS = (
    Kind("denoiser", "unet", "plain", "denoiser"),
    Kind("text encoder", "text_encoder", "plain", "text-encoder", plant="text_encoder"),
    Kind("scheduler", "scheduler", "plain", "scheduler"),
    Kind("LoRA, merged", "changes", "plain", "lora", plant="lora.safetensors"),
    Kind("changed weights of a flow", "changes", "reference-sd3", "reference-sd3-biased",
         {"steps": 5}),
    Kind("one text encoder of a flow", "text_encoder", "flow", "flow-text-encoder", {"steps": 5},
         plant="flow_text_encoder"),
    Kind("engine that rewrites", "model", "faithful", "rewriting"),
    Kind("decoder", "vae", "plain", "decoder", plant="vae"),
)  # fmt: skip


class Engine(BaseHTTPRequestHandler):
    """Answers as OpenAI's service does, with pictures of the reference model."""

    protocol_version = "HTTP/1.1"
    server: Any

    def do_POST(self) -> None:
        """Draw one picture."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["prompt"]
        if self.server.rewrites:
            text = text.replace(*REWRITTEN)
        with self.server.lock:
            request = Request(text, body.get("seed", 0), GenerationSettings())
            (picture,) = self.server.model.generate([request])
        buffer = io.BytesIO()
        picture.image.save(buffer, "PNG")
        drawn = base64.b64encode(buffer.getvalue()).decode()
        self._send({"created": 1, "data": [{"b64_json": drawn, "revised_prompt": text}]})

    def do_GET(self) -> None:
        """List one model, whose age says which engine it is."""
        one = {"id": "m", "object": "model", "created": int(self.server.rewrites)}
        self._send({"object": "list", "data": [one]})

    def _send(self, plain: Any) -> None:
        content = json.dumps(plain).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def service(store: Store, catalogue: Path, port: int, *, rewrites: bool) -> Iterator[str]:
    """A server on this machine; yields the model's address."""
    server = ThreadingHTTPServer(("127.0.0.1", port), Engine)
    settings = Settings("plain", store=store.folder, catalogue=catalogue, probe="never")
    server.model = Components(settings, store).model().get()  # type: ignore[attr-defined]
    server.lock, server.rewrites = threading.Lock(), rewrites  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"openai:m@http://127.0.0.1:{port}/v1"
    finally:
        server.shutdown()
        server.server_close()


PORTS = {"faithful": 18_731, "rewriting": 18_732}


def _place(folder: Path, kind: Kind, number: int) -> Path:
    return folder / f"{kind.name}-{number}".replace(" ", "-").replace(",", "")


def tried(kind: Kind, number: int, folder: Path, names: dict[str, str]) -> dict[str, Any]:
    """Record, run and explain one case; return the status and the facts."""
    place = _place(folder, kind, number)
    place.mkdir(exist_ok=True)
    if (place / "case.json").exists():
        case: dict[str, Any] = json.loads((place / "case.json").read_text())
        return case
    os.chdir(place)
    prompts = axes.profession.only(*WORDS[number])
    options = {
        "images": IMAGES, "progress": False, "store": str(folder / "store"), "probe": "never",
        "catalogue": str(folder / plants.CATALOGUE), "detector": "clip-enhance:reference",
    }  # fmt: skip
    before = audit(names.get(kind.old, kind.old), prompts, **options)
    save_baseline(before._results, Path("baseline.json"))
    now = audit(names.get(kind.new, kind.new), prompts, **options, **kind.settings)
    now.write_report("report")
    arguments = ["explain", "report/run.json", "--baseline", "baseline.json",
                 "--catalogue", options["catalogue"], "--store", options["store"]]  # fmt: skip
    status = t2i(arguments)
    file = place / "report" / "explain.sections.json"
    facts = json.loads(file.read_text())["facts"] if file.exists() else {}
    case = {"status": status, "explanation": facts}
    (place / "case.json").write_text(json.dumps(case))
    return case


def row(kind: Kind, number: int, case: dict[str, Any]) -> str:
    """Return a row of the table."""
    found = case["explanation"]
    names = [name for effect in found["named"] for name in effect["components"]]
    is_right = names == [kind.culprit] and found["outcome"] == "named"
    changed = [c["name"] for c in found["components"] if c["before"] != c["now"]]
    return (
        f"| {kind.name} | {', '.join(WORDS[number][:2])} ... | {', '.join(changed)} | "
        f"{found['outcome']}: {', '.join(names) or '-'} | {'yes' if is_right else 'no'} | "
        f"{found['planned']} / {found['images']} |"
    )


HEAD = """# Real cases of every kind of culprit

Made by `python tests/measured/kinds.py FOLDER`: four professions with 12 images each on both sides,
every picture made, judged and explained by the commands of a user. The plants are those of
`plants.py`.

| culprit | professions | changed | answer | right | images told / used |
|---|---|---|---|---|---|
"""


def page(folder: Path) -> str:
    """Return the page with the table of all cases that were run."""
    lines = [
        row(kind, number, json.loads(file.read_text()))
        for kind in KINDS
        for number in range(len(WORDS))
        if (file := _place(folder, kind, number) / "case.json").exists()
    ]
    return HEAD + "\n".join(lines) + "\n"


def main() -> None:
    """Run every case, and write the table."""
    folder = Path(sys.argv[1]).resolve()
    chosen = sys.argv[2:] or [kind.name for kind in KINDS]
    catalogue, store = plants.write(folder), Store(folder / "store")
    os.environ["OPENAI_API_KEY"] = "none"
    for number in range(len(WORDS)):
        for kind in (kind for kind in KINDS if kind.name in chosen):
            plants.make(folder, kind.plant)
            if kind.old not in PORTS:
                case = tried(kind, number, folder, {})
            else:
                with (
                    service(store, catalogue, PORTS["faithful"], rewrites=False) as old,
                    service(store, catalogue, PORTS["rewriting"], rewrites=True) as new,
                ):
                    case = tried(kind, number, folder, {"faithful": old, "rewriting": new})
            print(row(kind, number, case), flush=True)
    TABLE.write_text(page(folder))


if __name__ == "__main__":
    main()
