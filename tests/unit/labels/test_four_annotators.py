"""Four people who label alone: what each rule leaves without a label, simulated and computed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import multinomial

from pytest_t2i.cli.main import main
from pytest_t2i.labels import Label, agreed, write_labels
from pytest_t2i.labels.label import LOW_QUALITY, UNSETTLED

WORDS = ("male", "female", LOW_QUALITY)
PEOPLE = ("ada", "bo", "cy", "dee")
IMAGES = 3571
KINDS = {"clear": (0.75, (0.96, 0.02, 0.02)), "hard": (0.25, (0.55, 0.15, 0.3))}
"""Kind of image -> its share, and how often a person gives the true label, the other, none."""
RULES = {
    "unanimous": lambda counts: max(counts) == len(PEOPLE),
    "majority": lambda counts: max(counts) > len(PEOPLE) / 2,
    "plurality": lambda counts: max(counts) > sorted(counts)[-2],
}


def simulated(seed):
    """Labels of every image by everybody, each on their own."""
    rng = np.random.default_rng(seed)
    shares = [share for share, _ in KINDS.values()]
    words = [rates for _, rates in KINDS.values()]
    labels = []
    for image, kind in enumerate(rng.choice(len(KINDS), IMAGES, p=shares)):
        truth = rng.permutation(2)
        for person in PEOPLE:
            said = rng.choice(3, p=words[kind])
            word = WORDS[truth[said]] if said < 2 else LOW_QUALITY
            labels.append(Label(f"{image}.png", word, person))
    return labels


def expected(rule):
    """The share of images that a rule leaves without a label: summed over all that can be said."""
    left = 0.0
    for counts in product(range(len(PEOPLE) + 1), repeat=3):
        if sum(counts) == len(PEOPLE):
            is_left = not RULES[rule](counts) or counts.index(max(counts)) == 2
            for share, rates in KINDS.values():
                left += is_left * share * multinomial.pmf(counts, len(PEOPLE), rates)
    return left


@pytest.fixture(scope="module")
def labels():
    return simulated(0)


def left(labels, rule):
    """Images without a label that counts: unsettled ones, and those that are low quality."""
    return sum(label in (LOW_QUALITY, UNSETTLED) for label in agreed(labels, rule).values())


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_leaves_what_its_words_say(labels, rule):
    share = expected(rule)
    error = np.sqrt(share * (1 - share) / IMAGES)
    assert abs(left(labels, rule) / IMAGES - share) < 3 * error


def test_fewer_images_are_left_the_less_a_rule_asks(labels):
    unanimous, majority, plurality = (left(labels, rule) for rule in RULES)
    assert unanimous > 1.9 * majority
    assert majority > plurality


@pytest.mark.slow
def test_the_command_says_what_each_rule_leaves(labels, tmp_path, capsys):
    write_labels(tmp_path, labels)
    assert main(["label", "agreement", str(tmp_path)]) == 0
    unsettled = {rule: [*agreed(labels, rule).values()].count(UNSETTLED) for rule in RULES}
    counts = ", ".join(f"{count} by {rule}" for rule, count in unsettled.items())
    assert f"unsettled of {IMAGES} images: {counts}" in capsys.readouterr().out
