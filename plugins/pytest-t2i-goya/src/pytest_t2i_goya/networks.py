"""The networks of GOYA (thesis eq. 2.3, 2.4, 2.7, Table 2.1), by the names of the public release.

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
"""Dimensions in which pairs are compared (thesis Table 2.1)."""
SPACES = ("content", "style", "projected-content", "projected-style")
"""g^C and g^S of the thesis, and h^C(g^C) and h^S(g^S), in which its losses compare."""


class ContentEncoder(nn.Module):  # type: ignore[misc] # torch is untyped here
    """C: two layers with a ReLU between (thesis eq. 2.3)."""

    def __init__(self, features: int, hidden: int, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[n, features] -> [n, width]."""
        out: torch.Tensor = self.fc2(relu(self.fc1(x)))
        return out


class StyleEncoder(nn.Module):  # type: ignore[misc] # torch is untyped here
    """S: three layers, with the input added before the last ReLU (thesis eq. 2.4)."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(features, features)
        self.fc2 = nn.Linear(features, features)
        self.fc3 = nn.Linear(features, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[n, features] -> [n, width]."""
        out: torch.Tensor = self.fc3(relu(self.fc2(relu(self.fc1(x))) + x))
        return out


class Embedded(NamedTuple):
    """What all heads say of a batch."""

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
        """The embedding of a space of ``SPACES``."""
        found: torch.Tensor = getattr(self, name.replace("-", "_"))
        return found


class Sizes(NamedTuple):
    """Dimensions of the networks."""

    features: int
    """Number of features of the encoder below."""
    hidden: int
    """Inside the content encoder."""
    width: int
    """Width of both spaces."""
    styles: int
    """Classes of the style classifier."""
    projected: int = PROJECTED

    @classmethod
    def of(cls, tensors: Mapping[str, torch.Tensor]) -> Sizes:
        """Read off the tensors of a file."""
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
        """Features of an encoder, [n, features], in all spaces."""
        content, style = self.content_encoder(x), self.style_encoder(x)
        projected = self.projector_c(content), self.projector_s(style)
        return Embedded(content, style, *projected, self.classifier_s(style))


OF_CONTENT = ("content_encoder.", "projector_c.")
"""Beginnings of the names of what the content space is made of; the others are of style."""


def _projector(sizes: Sizes) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(sizes.width, sizes.width, bias=False),
        nn.ReLU(),
        nn.Linear(sizes.width, sizes.projected, bias=False),
    )
