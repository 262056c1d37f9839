"""The networks of GOYA (thesis eq. 2.3, 2.4, 2.7, Table 2.1), with the public release's names.

Table 2.1 is garbled in print. The sizes here are those of the authors' program: the content encoder
has two layers, the style encoder three with the input added before its last ReLU, each projector
two without bias, the classifier one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.functional import relu

PROJECTED = 64
"""The dimensions of the spaces in which the losses compare pairs (thesis Table 2.1)."""
SPACES = ("content", "style", "projected-content", "projected-style")
"""The spaces g^C and g^S, and h^C(g^C) and h^S(g^S), in which the losses compare pairs."""


class ContentEncoder(nn.Module):  # type: ignore[misc] # torch is untyped here
    """The encoder C: two layers with a ReLU between (thesis eq. 2.3)."""

    def __init__(self, features: int, hidden: int, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [n, width] for [n, features]."""
        out: torch.Tensor = self.fc2(relu(self.fc1(x)))
        return out


class StyleEncoder(nn.Module):  # type: ignore[misc] # torch is untyped here
    """The encoder S: three layers, the input added before the last ReLU (thesis eq. 2.4)."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(features, features)
        self.fc2 = nn.Linear(features, features)
        self.fc3 = nn.Linear(features, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [n, width] for [n, features]."""
        out: torch.Tensor = self.fc3(relu(self.fc2(relu(self.fc1(x))) + x))
        return out


class Embedded(NamedTuple):
    """A batch in all spaces, with the logits of styles."""

    content: torch.Tensor
    """g^C, [n, width]."""
    style: torch.Tensor
    """g^S, [n, width]."""
    projected_content: torch.Tensor
    """h^C(g^C), [n, 64]."""
    projected_style: torch.Tensor
    """h^S(g^S), [n, 64]."""
    styles: torch.Tensor
    """w^S = R(g^S), a logit for each style, [n, n_styles] (thesis eq. 2.7)."""

    def space(self, name: str) -> torch.Tensor:
        found: torch.Tensor = getattr(self, name.replace("-", "_"))
        return found


class Sizes(NamedTuple):
    """The dimensions of the networks."""

    features: int
    """The number of features of the encoder below."""
    hidden: int
    """The width inside the content encoder."""
    width: int
    """The width of both spaces."""
    styles: int
    """The number of classes of the style classifier."""
    projected: int = PROJECTED

    @classmethod
    def of(cls, tensors: Mapping[str, torch.Tensor]) -> Sizes:
        hidden, features = tensors["content_encoder.fc1.weight"].shape
        width = tensors["content_encoder.fc2.weight"].shape[0]
        styles = tensors["classifier_s.weight"].shape[0]
        return cls(features, hidden, width, styles, tensors["projector_c.2.weight"].shape[0])


class Goya(nn.Module):  # type: ignore[misc] # torch is untyped here
    """Both encoders, their projectors and the style classifier.

    >>> goya = Goya(Sizes(features=8, hidden=16, width=12, styles=3))
    >>> [tuple(each.shape) for each in goya(torch.zeros(2, 8))]
    [(2, 12), (2, 12), (2, 64), (2, 64), (2, 3)]
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.content_encoder = ContentEncoder(sizes.features, sizes.hidden, sizes.width)
        self.style_encoder = StyleEncoder(sizes.features, sizes.width)
        self.projector_c = _projector(sizes)
        self.projector_s = _projector(sizes)
        self.classifier_s = nn.Linear(sizes.width, sizes.styles)

    def forward(self, x: torch.Tensor) -> Embedded:
        """Return the features of an encoder, [n, features], in all spaces."""
        content, style = self.content_encoder(x), self.style_encoder(x)
        projected = self.projector_c(content), self.projector_s(style)
        return Embedded(content, style, *projected, self.classifier_s(style))


OF_CONTENT = ("content_encoder.", "projector_c.")
"""Prefixes of the tensors of the content space; all others belong to the style space."""


def _projector(sizes: Sizes) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(sizes.width, sizes.width, bias=False),
        nn.ReLU(),
        nn.Linear(sizes.width, sizes.projected, bias=False),
    )
