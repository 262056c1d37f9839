"""Parts for ``t2i research stop`` that cost nothing: a face detector, a language model."""

from __future__ import annotations

from typing import Any

from pytest_t2i.data import Box, NextToken


class WholePicture:
    """A face detector that reports the whole picture as one face."""

    fingerprint = "whole"

    def faces(self, images: Any) -> list[list[Box]]:
        """One face for each image."""
        return [[Box(0, 0, *image.size)] for image in images]


class Echo:
    """A language model that continues every text with "blue" or "red"."""

    def next_tokens(self, texts: Any, count: int) -> list[list[NextToken]]:
        """Both continuations of each text, each as likely."""
        del count
        return [[NextToken(f"{text} blue", 0.5), NextToken(f"{text} red", 0.5)] for text in texts]
