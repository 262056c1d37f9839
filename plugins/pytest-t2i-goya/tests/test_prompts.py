"""Contents and styles, and which contents are the same."""

from __future__ import annotations

import numpy as np
import pytest
from pytest_t2i import T2IError

from pytest_t2i_goya.pairs import same_contents
from pytest_t2i_goya.prompts import (
    check_counts,
    crossed,
    described,
    listed,
    usual_contents,
    usual_styles,
)  # fmt: skip

pytestmark = pytest.mark.slow


def test_each_content_has_styles_of_its_own_draw():
    prompts = crossed([f"content {k}" for k in range(40)], list("abcdefgh"), 3, seed=0)
    assert len({p.text for p in prompts}) == len(prompts) == 120
    assert {p.style for p in prompts} == set("abcdefgh")
    assert prompts == crossed([f"content {k}" for k in range(40)], list("abcdefgh"), 3, seed=0)
    fewer = crossed(["content 7"], list("abcdefgh"), 3, seed=0)
    assert fewer == [p for p in prompts if p.content == "content 7"]


def test_what_is_usual_is_what_the_thesis_crosses():
    assert len(set(usual_contents())) == 100
    assert not [text for text in usual_contents() if "a photo " in text]
    assert "a picture of one person who is a nurse" in usual_contents()
    assert len(usual_styles()) == 27
    assert "Ukiyo-e" in usual_styles()


def test_the_longest_style_that_fits_is_taken():
    (one,) = described(["a nurse, in oil, oil on canvas, oil"], ["oil"])
    assert (one.content, one.style) == ("a nurse, in oil, oil on canvas", "oil")


@pytest.mark.parametrize("text", ["a nurse", ", oil", "a nurse, "])
def test_a_prompt_without_both_is_refused(text):
    with pytest.raises(T2IError, match="1 of 1 prompts do not end in a comma and a style"):
        described([text], [])


@pytest.mark.parametrize("count", [0, 3])
def test_no_more_styles_than_there_are(count):
    with pytest.raises(T2IError, match=f"from 1 to 2, the number of styles, got {count}"):
        crossed(["a"], ["x", "y"], count, 0)


def test_counts():
    with pytest.raises(T2IError, match="got one of 'oil'"):
        check_counts(["line", "line", "oil"], "style")
    with pytest.raises(T2IError, match="at least two styles, got line"):
        check_counts(["line", "line"], "style")


def test_lists_come_from_files_too(tmp_path):
    (tmp_path / "styles.txt").write_text("film noir\n\n sketch \nsketch\n")
    assert listed(str(tmp_path / "styles.txt"), "styles", ()) == ["film noir", "sketch"]
    assert listed(None, "styles", ("a",)) == ["a"]
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(T2IError, match="in UTF-8"):
        listed(str(tmp_path / "bytes"), "styles", ())


TEXTS = {"a man": [1.0, 0.0], "a boy": [0.8, 0.6], "a dog": [0.0, 1.0]}


class Reader:
    fingerprint = "reader-1"

    def encode(self, images):
        raise NotImplementedError

    def encode_text(self, texts):
        return np.array([TEXTS[text] for text in texts], np.float32)


def test_contents_are_the_same_up_to_the_threshold_of_their_texts():
    same = same_contents(list(TEXTS), "text", 0.25, Reader())
    assert same.tolist() == [[True, True, False], [True, True, False], [False, False, True]]
    assert same_contents(list(TEXTS), "same", 0.25, Reader()).sum() == 3
