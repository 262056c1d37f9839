"""The losses of GOYA (thesis eq. 2.5-2.8), as printed and as in the authors' program.

The thesis also tries two other losses on the same pairs, and each loss without the classifier of
styles (section 2.5.8, Figure 2.9). It prints neither their formulas nor their settings: here they
are those of the works that it names.
"""

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
PairLoss = Literal["contrastive", "ntxent", "triplet"]
PAIR_LOSSES: tuple[str, ...] = get_args(PairLoss)
"""The losses of pairs that Figure 2.9 of the thesis compares; the first one is GOYA's."""
TEMPERATURE = 0.07
"""The temperature of NTXent in the authors' program."""
TRIPLET_MARGIN = 0.2
"""The margin alpha of the triplet loss (Schroff et al. 2015)."""


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
    *,
    pairs: PairLoss = "contrastive",
    classifies: bool = True,
) -> Losses:
    """Return the losses of a batch.

    Args:
        embedded: the batch in all spaces.
        same_content: whether the contents of each pair are the same, [n, n] of bool.
        styles: the number of each picture's style, [n].
        reading: the reading of eq. 2.8.
        margin: the similarity below which a negative pair adds nothing.
        pairs: the loss of pairs.
        classifies: whether the classifier of styles has a part in the loss.
    """
    same_style = styles[:, None] == styles[None, :]
    reduction = "sum" if reading == "sums" else "mean"

    def of_pairs(projected: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        if pairs == "ntxent":
            return ntxent(projected, same, reading)
        if pairs == "triplet":
            return triplet(projected, same, reading)
        return contrastive(projected, same, reading, margin)

    classes = cross_entropy(embedded.styles, styles, reduction=reduction)
    return Losses(
        of_pairs(embedded.projected_content, same_content),
        of_pairs(embedded.projected_style, same_style),
        classes if classifies else torch.zeros_like(classes),
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


def ntxent(
    projected: torch.Tensor,
    same: torch.Tensor,
    reading: Reading,
    temperature: float = TEMPERATURE,
) -> torch.Tensor:
    """Return the normalised temperature-scaled cross entropy (Chen et al. 2020).

    .. math:: L_ij = -log(exp(s_ij / tau) / (exp(s_ij / tau) + sum_k exp(s_ik / tau)))

    s_ij is the cosine similarity of a positive pair, and k runs over the pictures that form a
    negative pair with i. For one positive pair of each picture this is the printed loss of the
    work; with several, each pair is compared with the negative ones alone.

    >>> apart, same = torch.eye(2), torch.ones(2, 2, dtype=bool)
    >>> ntxent(apart, same, "sums").item()
    0.0
    """
    logits, positive, negative = _pairs(projected, same)
    logits = logits / temperature
    others = torch.logsumexp(logits.masked_fill(~negative, -torch.inf), dim=1)
    first, second = positive.nonzero(as_tuple=True)
    # log(exp(a) + exp(b)) - a, whose derivative stays finite where there is no negative pair.
    costs = torch.nn.functional.softplus(others[first] - logits[first, second])
    return _reduced(costs, logits, reading)


def triplet(
    projected: torch.Tensor,
    same: torch.Tensor,
    reading: Reading,
    margin: float = TRIPLET_MARGIN,
) -> torch.Tensor:
    """Return the triplet loss over all triplets of a batch (Schroff et al. 2015).

    .. math:: L_ijk = max(0, |u_i - u_j|^2 - |u_i - u_k|^2 + margin)

    u are projected embeddings of unit length, i and j form a positive pair, i and k a negative one.

    >>> vectors = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> same = torch.tensor([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    >>> triplet(vectors, same, "sums").item(), triplet(vectors, ~same, "sums").item() > 0
    (0.0, True)
    """
    cosines, positive, negative = _pairs(projected, same)
    first, second = positive.nonzero(as_tuple=True)
    # |u - v|^2 = 2 - 2 u.v for vectors of unit length.
    costs = torch.relu(2.0 * (cosines[first] - cosines[first, second][:, None]) + margin)
    return _reduced(costs[negative[first]], cosines, reading)


def _pairs(
    projected: torch.Tensor, same: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return cosines, and which ordered pairs are positive and negative, [n, n] each."""
    unit = normalize(projected, dim=1)
    itself = torch.eye(len(unit), dtype=torch.bool, device=unit.device)
    return unit @ unit.T, same & ~itself, ~same & ~itself


def _reduced(costs: torch.Tensor, cosines: torch.Tensor, reading: Reading) -> torch.Tensor:
    """Return the sum or the mean; 0 without any, which has a derivative, too."""
    if not costs.numel():
        return 0.0 * cosines.sum()
    return costs.sum() if reading == "sums" else costs.mean()
