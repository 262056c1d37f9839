"""The four kinds of endpoints, by both protocols: is what seeds determine recognised each time?"""

from __future__ import annotations

from image_server import serving
from tally import Tally

from pytest_t2i.adapters.endpoints.services import hugging_face, openai_images
from pytest_t2i.data import GenerationSettings
from pytest_t2i.generation.seeds import TOGETHER, probe
from pytest_t2i.protocols import LoadOptions

WANTED = "each kind recognised every time"
KINDS = {"seeded": None, "batch": "batch", "draws": "random", "constant": "cached"}
"""What is to be found -> how the server behaves."""
WORDS = {
    "seeded": "seeded",
    "batch": "dependent on the batch",
    "draws": "drawing anew",
    "constant": "constant",
}


def go(connections: int) -> Tally:
    """So many connections to servers of each kind, by turns by OpenAI's protocol and by the other.

    Every connection meets a server of its own, which has made no picture before.
    """
    tally, found_at = Tally("seeding of endpoints", WANTED), []
    for number in range(connections):
        for kind, behaviour in KINDS.items():
            with serving(always=behaviour) as server:
                source = f"m@{server.url}" if number % 2 else f"{server.origin}/hf"
                load = openai_images.load if number % 2 else hugging_face.load
                found, asked = probe(load(LoadOptions(source=source)), GenerationSettings())
                tally.tried(WORDS[kind])
                where = f"connection {number} to a server that is {WORDS[kind]}"
                tally.check(found is not None and found.kind == kind, f"{where}: {found}")
                tally.check(len(server.asked) == asked, f"{where}: {len(server.asked)} requests")
                if kind == "batch":
                    found_at.append(server.crowds)
    tally.facts["requests beside others, of 8"] = f"{1 + min(found_at)} at least"
    tally.check(max(found_at) < TOGETHER, "more than eight at the same time")
    return tally
