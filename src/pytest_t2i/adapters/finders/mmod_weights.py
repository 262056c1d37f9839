"""Read mmod_human_face_detector.dat, dlib's serialised CNN face detector, without dlib.

The format (dlib ``serialize.h``, ``dnn/layers.h``) is as follows. An integer is one byte with sign
and length, then its bytes. A floating-point number is two integers, mantissa and exponent. A text
is its length and its bytes. A tensor is a version, four dimensions and little-endian 32-bit floats.
Layers follow one another with their names: con_4, bn_con2, relu_110.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

CONVOLUTION, NORMALIZATION = b"\x01\x05con_4", b"\x01\x07bn_con2"
START = b"\x01\x01\x01\x0aloss_mmod_"
EPSILON = 1e-4
"""dlib's DEFAULT_BATCH_NORM_EPS."""
FILTERS = ((16, 3, 5), (32, 16, 5), (32, 32, 5), (45, 32, 5), (45, 45, 5), (45, 45, 5), (1, 45, 9))
"""Outputs, inputs and kernel side of the seven convolutions."""
TENSOR = 2
"""Version of a serialized tensor."""


class Convolution(NamedTuple):
    """One layer, merged with the normalisation that follows it."""

    weights: np.ndarray
    """[outputs, inputs, side, side] float32."""
    bias: np.ndarray
    """[outputs] float32."""


@dataclass(slots=True)
class Reader:
    """Reads values from the bytes, one after another."""

    data: bytes
    at: int = 0

    def integer(self) -> int:
        """Read a signed integer."""
        control = self.data[self.at]
        count = control & 0x0F
        start, self.at = self.at + 1, self.at + 1 + count
        value = int.from_bytes(self.data[start : self.at], "little")
        return -value if control & 0x80 else value

    def number(self) -> float:
        """Read a floating-point number."""
        mantissa = self.integer()
        return float(mantissa * 2.0 ** self.integer())

    def tensor(self) -> np.ndarray:
        """Read a tensor as a flat array."""
        if self.integer() != TENSOR:
            raise ValueError("expected a tensor, got another value")
        count = int(np.prod([self.integer() for _ in range(4)]))
        start, self.at = self.at, self.at + 4 * count
        return np.array(struct.unpack(f"<{count}f", self.data[start : self.at]), np.float32)

    def alias(self) -> None:
        """Skip the description of a part of a tensor: a version and four dimensions."""
        for _ in range(5):
            self.integer()


def overlap_of(data: bytes) -> float:
    """Largest intersection over union of two faces that are both kept."""
    reader = Reader(data, len(START))
    # Skipped: version of the options, width and height of the window, losses of false alarms and
    # misses, overlap with the truth in training.
    for read in (*[reader.integer] * 3, *[reader.number] * 3):
        read()
    return reader.number()


def convolutions(data: bytes) -> Iterator[Convolution]:
    """The layers in the order of the file, which is that of the network."""
    at = 0
    for outputs, inputs, side in FILTERS:
        at = data.index(CONVOLUTION, at) + len(CONVOLUTION)
        values = Reader(data, at).tensor()
        weights = values[:-outputs].reshape(outputs, inputs, side, side)
        layer = Convolution(weights, values[-outputs:])
        at += values.nbytes
        yield _normalized(data, at, layer) if outputs > 1 else layer


def _normalized(data: bytes, at: int, layer: Convolution) -> Convolution:
    """Merge gamma (x - mean) / sqrt(variance + eps) + beta into weights and bias."""
    reader = Reader(data, data.index(NORMALIZATION, at) + len(NORMALIZATION))
    gamma, beta = np.split(reader.tensor(), 2)
    # Skipped: positions of gamma and beta in their tensor, means and deviations of the last batch.
    for read in (reader.alias, reader.alias, reader.tensor, reader.tensor):
        read()
    mean, variance = reader.tensor(), reader.tensor()
    scale = gamma / np.sqrt(variance + EPSILON)
    bias = (layer.bias - mean) * scale + beta
    return Convolution(layer.weights * scale[:, None, None, None], bias)
