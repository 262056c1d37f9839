"""The losses of GOYA (thesis eq. 2.5-2.8), as printed and as in the authors' program."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import torch
from torch.nn.functional import cross_entropy, normalize

from pytest_t2i_goya.networks import Embedded

Reading = Literal["means", "sums"]
READINGS: tuple[str, ...] = get_args(Reading)
"""The readings of eq. 2.8. ``sums``: over all pairs, as printed. ``means``: the mean of positive
pairs plus that of negative pairs, as in the authors' program. A batch has many more negative pairs,
so positive ones count for little in a sum."""
MARGIN = 0.5
"""The margins epsilon^C and epsilon^S (thesis section 2.5.4)."""
THRESHOLD = 0.25
"""The threshold epsilon^T: contents with texts this near are the same (thesis section 2.5.4)."""


class Losses(NamedTuple):
    """The three parts of eq. 2.8."""

    content: torch.Tensor
    style: torch.Tensor
    classes: torch.Tensor

    @property
    def total(self) -> torch.Tensor:
        """The sum of the three parts; all weights are 1, as in the thesis."""
        return self.content + self.style + self.classes


def losses(
    embedded: Embedded,
    same_content: torch.Tensor,
    styles: torch.Tensor,
    reading: Reading,
    margin: float = MARGIN,
) -> Losses:
    """Return the losses of a batch.

    Args:
        embedded: the batch in all spaces.
        same_content: whether the contents of each pair are the same, [n, n] of bool.
        styles: the number of each picture's style, [n].
        reading: the reading of eq. 2.8.
        margin: the similarity below which a negative pair adds nothing.
    """
    same_style = styles[:, None] == styles[None, :]
    reduction = "sum" if reading == "sums" else "mean"
    return Losses(
        contrastive(embedded.projected_content, same_content, reading, margin),
        contrastive(embedded.projected_style, same_style, reading, margin),
        cross_entropy(embedded.styles, styles, reduction=reduction),
    )


def contrastive(
    projected: torch.Tensor, same: torch.Tensor, reading: Reading, margin: float = MARGIN
) -> torch.Tensor:
    """Return the loss that draws pairs of the same kind together (thesis eq. 2.5 and 2.6).

    .. math:: L_ij = 1 - D_ij where the same, else max(0, D_ij - margin)

    D_ij is the cosine *similarity* of two projected embeddings, as in the authors' program. The
    thesis calls D_ij a distance, with which the loss would do the opposite.

    >>> apart = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> same, other = torch.ones(2, 2, dtype=bool), torch.eye(2, dtype=bool)
    >>> [contrastive(apart, kind, "sums").item() for kind in (same, other)]
    [2.0, 0.0]
    >>> contrastive(apart, same, "means").item()
    1.0
    """
    unit = normalize(projected, dim=1)
    first, second = torch.triu_indices(len(unit), len(unit), 1, device=unit.device)
    cosines, alike = (unit @ unit.T)[first, second], same[first, second]
    positive, negative = 1.0 - cosines[alike], torch.relu(cosines[~alike] - margin)
    if reading == "sums":
        # Factor 2: eq. 2.8 sums both orders of a pair. A picture with itself adds nothing.
        return 2.0 * (positive.sum() + negative.sum())
    parts = [each.mean() for each in (positive, negative) if len(each)]
    return torch.stack(parts).sum() if parts else cosines.sum()
