"""Which seeds are shared: not those of a triplet, of numbered pictures, or that are ignored."""

from __future__ import annotations

from types import SimpleNamespace

from pytest_t2i import Prompt, triplet
from pytest_t2i.runs.session.selection import Selection
from pytest_t2i.runs.session.shared_seeds import why_seeds_prevent_verdict

PROMPTS = tuple(Prompt(f"a {word}", "w", word) for word in ("nurse", "pilot", "chef"))
PARK, BUS = triplet("a person in a park"), triplet("a person in a bus")


class Numbered:
    def __init__(self, numbers):
        self.numbers = numbers

    def available(self, prompt):
        raise AssertionError("the session says which seeds there are")


def why(selection, seeds, *, model=None, draws=False):
    """What is said of a test of this selection, where ``seeds`` gives the seeds of each text."""
    handle = SimpleNamespace(get=lambda: model, lists_images=model is not None)
    session = SimpleNamespace(
        components=SimpleNamespace(model=lambda: handle, most_seed=99),
        seeds=lambda prompt, images: tuple(seeds(prompt.text))[:images],
    )
    observations = SimpleNamespace(draws_anew=lambda: draws)
    results = SimpleNamespace(session=session, observations=observations)
    return why_seeds_prevent_verdict(results, [SimpleNamespace(selection=selection, images=10)])


def same(_):
    return range(10)


def test_variants_of_a_triplet_are_no_other_prompts():
    assert why(Selection(triplets=(PARK,)), same) == ""
    assert why(Selection(prompts=(PARK.neutral,), triplets=(PARK,)), same) == ""
    assert why(Selection(triplets=(PARK, BUS)), same).startswith(
        "20 of 20 pictures share their seed with pictures of other prompts (on average over all, "
        "1 of them)"
    )
    assert why(Selection(prompts=(*PARK,)), same).startswith("30 of 30 pictures"), (
        "judged singly, the variants are three prompts"
    )


def test_seeds_that_determine_nothing_are_not_shared():
    assert why(Selection(prompts=PROMPTS), same)
    assert why(Selection(prompts=PROMPTS), same, draws=True) == ""
    assert why(Selection(prompts=PROMPTS), same, model=Numbered(lambda text: range(10))) == ""
    partly = Numbered(lambda text: range(10) if "nurse" in text else ())
    assert why(Selection(prompts=PROMPTS), same, model=partly).startswith("20 of 30 pictures")


def test_one_seed_of_all_prompts_weighs_more_than_one_of_two():
    texts = [f"text {k}" for k in range(100)]
    selection = Selection(prompts=tuple(Prompt(text, "w", text) for text in texts))

    def of_two(text):  # Two prompts have ten seeds in common, the others their own.
        return range(10 * max(texts.index(text), 1), 10 * max(texts.index(text), 1) + 10)

    def of_all(text):
        return [-1, *range(9 * texts.index(text), 9 * texts.index(text) + 9)]

    assert why(selection, of_two) == ""
    assert why(selection, of_all).startswith(
        "100 of 1000 pictures share their seed with pictures of other prompts (on average over "
        "all, 9.9 of them)"
    )


def test_one_prompt_alone_shares_nothing():
    assert why(Selection(prompts=PROMPTS[:1]), same) == ""
