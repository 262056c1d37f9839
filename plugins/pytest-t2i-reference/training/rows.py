"""One row of the text encoder's embedding for each concept: moved a little, it moves what the concept's prompts show.

The idea is that of textual inversion (Gal et al. 2022): all weights stay as they are but the embedding of one token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from transformers import CLIPTextModel, CLIPTokenizer

from pytest_t2i_reference.worlds import load_concepts

UNIT = 0.55
"""Length of one unit of a move: about that from "woman" to "man" in the embedding."""
UNIT_RESPONSE = 4.0
"""Log-odds by which one unit changes a trait whose direction all pictures agree on; a first guess."""
OWN_TOKENS = {
    "taxi driver": "taxi",
    "bus driver": "driver",
    "software developer": "software",
    "real estate agent": "estate",
    "eye glasses": "glasses",
    "bus station": "station",
    "school campus": "campus",
}
"""Words of several tokens to the one that is theirs; all others are one token."""


def own_rows(tokenizer: CLIPTokenizer) -> Tensor:
    """The row of each concept, in the order of ``load_concepts()``; no two concepts share one.

    Raises ValueError that names the word which the tokenizer does not know as one token.
    """
    rows = []
    for concept in load_concepts():
        ids = tokenizer(OWN_TOKENS.get(concept.word, concept.word), add_special_tokens=False).input_ids
        if len(ids) != 1 or ids[0] in rows:
            raise ValueError(f"a concept needs a token of its own, got {ids} for {concept.word!r}")
        rows.append(ids[0])
    return torch.tensor(rows)


@contextmanager
def open_to_gradients(encoder: CLIPTextModel, ids: Tensor, rows: Tensor) -> Iterator[Tensor]:
    """Zeros [n, width] that are added where text i of ``ids`` [n, length] names ``rows[i]``; gradients reach them."""
    inputs = encoder.get_input_embeddings()
    shifts = torch.zeros(len(ids), inputs.weight.shape[1], device=ids.device, requires_grad=True)
    places = (ids == rows[:, None]).unsqueeze(-1)
    hook = inputs.register_forward_hook(lambda module, given, states: states + places * shifts[:, None])
    try:
        yield shifts
    finally:
        hook.remove()


def mean_direction(gradients: Sequence[Tensor]) -> Tensor:
    """The direction [width] that many gradients [n, width] have in common, each counted alike; of length one."""
    gathered = torch.cat(list(gradients))
    lengths = gathered.norm(dim=1, keepdim=True).clamp_min(1e-12)
    total = (gathered / lengths).sum(0)
    direction: Tensor = total / total.norm().clamp_min(1e-12)
    return direction
