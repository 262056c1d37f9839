"""The networks and losses are those of the thesis, by another way of computing them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn import CosineEmbeddingLoss
from torch.nn.functional import cosine_similarity, cross_entropy

from pytest_t2i_goya.losses import PAIR_LOSSES, contrastive, losses, ntxent, triplet
from pytest_t2i_goya.networks import SPACES, Goya, Sizes

pytestmark = pytest.mark.slow

N, MARGIN = 12, 0.5


@pytest.fixture
def batch():
    torch.manual_seed(0)
    goya = Goya(Sizes(features=6, hidden=10, width=8, styles=3))
    return goya, torch.randn(N, 6), torch.arange(N) % 4, torch.arange(N) % 3


def pair(similarity, same):
    return 1 - similarity if same else max(0.0, similarity - MARGIN)


def test_content_and_style_are_equations_2_3_and_2_4(batch):
    goya, x, _, _ = batch
    said, c, s = goya(x), goya.content_encoder, goya.style_encoder
    content = torch.relu(x @ c.fc1.weight.T + c.fc1.bias) @ c.fc2.weight.T + c.fc2.bias
    inner = torch.relu(x @ s.fc1.weight.T + s.fc1.bias) @ s.fc2.weight.T + s.fc2.bias
    style = torch.relu(inner + x) @ s.fc3.weight.T + s.fc3.bias
    assert torch.allclose(said.content, content, atol=1e-6)
    assert torch.allclose(said.style, style, atol=1e-6)
    assert torch.allclose(said.styles, goya.classifier_s(style), atol=1e-6)
    assert [said.space(name).shape[1] for name in SPACES] == [8, 8, 64, 64]


@torch.no_grad()
def test_sums_are_over_all_pairs_as_printed(batch):
    goya, x, contents, styles = batch
    said = goya(x)
    by_hand = {}
    for name, projected, kinds in (
        ("content", said.projected_content, contents),
        ("style", said.projected_style, styles),
    ):
        by_hand[name] = sum(
            float(pair(cosine_similarity(projected[i], projected[j], 0), kinds[i] == kinds[j]))
            for i in range(N)
            for j in range(N)
        )
    found = losses(said, contents[:, None] == contents, styles, "sums", MARGIN)
    assert float(found.content) == pytest.approx(by_hand["content"], rel=1e-5)
    assert float(found.style) == pytest.approx(by_hand["style"], rel=1e-5)
    of_each = [
        cross_entropy(row[None], k[None]) for row, k in zip(said.styles, styles, strict=True)
    ]
    assert float(found.classes) == pytest.approx(float(sum(of_each)), rel=1e-5)
    assert float(found.total) == pytest.approx(float(found.content + found.style + found.classes))


@torch.no_grad()
def test_means_are_those_of_the_public_program(batch):
    goya, x, contents, styles = batch
    said, same = goya(x), contents[:, None] == contents
    first, second = torch.triu_indices(N, N, 1)
    theirs = torch.tensor(0.0)
    for sign, chosen in ((1, same[first, second]), (-1, ~same[first, second])):
        a, b = said.projected_content[first[chosen]], said.projected_content[second[chosen]]
        theirs = theirs + CosineEmbeddingLoss(margin=MARGIN)(a, b, torch.full((len(a),), sign))
    found = losses(said, same, styles, "means", MARGIN)
    assert float(found.content) == pytest.approx(float(theirs), rel=1e-5)
    assert float(found.classes) == pytest.approx(float(cross_entropy(said.styles, styles)))


@pytest.mark.parametrize("reading", ["sums", "means"])
@pytest.mark.parametrize("same", [True, False])
def test_a_step_draws_the_same_together_and_others_apart(reading, same):
    vectors = torch.tensor([[1.0, 0.2], [0.9, 0.5]], requires_grad=True)
    before = cosine_similarity(vectors[0], vectors[1], 0)
    contrastive(vectors, torch.full((2, 2), same), reading).backward()
    after = vectors.detach() - 0.1 * vectors.grad
    assert (cosine_similarity(after[0], after[1], 0) > before) == same


@pytest.mark.parametrize("reading", ["sums", "means"])
def test_a_batch_without_pairs_of_a_kind_costs_what_the_other_costs(reading):
    apart = torch.eye(3)
    none_same = torch.eye(3, dtype=torch.bool)
    assert float(contrastive(apart, none_same, reading)) == 0.0
    assert float(contrastive(apart, torch.ones(3, 3, dtype=torch.bool), reading)) > 0.9


KINDS = {
    "four pairs": [0, 0, 1, 1, 2, 2, 3, 3],
    "uneven": [0, 0, 0, 1, 1, 2, 0, 3],
    "all alike": [0, 0, 0, 0],
    "none alike": [0, 1, 2, 3],
    "one picture": [0],
    "near, but not both to a third": None,
}


def batch_of(name):
    """Vectors, and whether each pair is the same; being near is not transitive."""
    kinds = KINDS[name]
    rng = np.random.default_rng(len(name))
    if kinds is None:
        near = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) <= 1
        return rng.normal(size=(5, 4)), near
    return rng.normal(size=(len(kinds), 4)), np.equal.outer(kinds, kinds)


def plain_ntxent(vectors, same, temperature=0.07):
    """One cost for each ordered positive pair, by loops over cosines."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    costs = []
    for i in range(len(unit)):
        against = [math.exp(unit[i] @ unit[k] / temperature)
                   for k in range(len(unit)) if not same[i, k]]  # fmt: skip
        for j in range(len(unit)):
            if i != j and same[i, j]:
                own = math.exp(unit[i] @ unit[j] / temperature)
                costs.append(-math.log(own / (own + sum(against))))
    return costs


def plain_triplet(vectors, same, margin=0.2):
    """One cost for each triplet, by loops over distances."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    n = range(len(unit))
    return [
        max(0.0, ((unit[i] - unit[j]) ** 2).sum() - ((unit[i] - unit[k]) ** 2).sum() + margin)
        for i in n for j in n for k in n
        if i != j and same[i, j] and not same[i, k]
    ]  # fmt: skip


PLAIN = {"ntxent": (ntxent, plain_ntxent), "triplet": (triplet, plain_triplet)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PLAIN)
def test_other_losses_are_those_of_plain_loops(name, kind):
    loss, plain = PLAIN[name]
    vectors, same = batch_of(kind)
    costs = plain(vectors, same)
    given = torch.tensor(vectors), torch.tensor(same)
    assert float(loss(*given, "sums")) == pytest.approx(sum(costs), rel=1e-9, abs=1e-12)
    mean = sum(costs) / len(costs) if costs else 0.0
    assert float(loss(*given, "means")) == pytest.approx(mean, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PLAIN)
def test_derivatives_are_those_of_small_steps(name, kind):
    loss, plain = PLAIN[name]
    vectors, same = batch_of(kind)
    given = torch.tensor(vectors, requires_grad=True)
    loss(given, torch.tensor(same), "sums").backward()
    step = 1e-6
    for place in np.ndindex(vectors.shape):
        ends = []
        for sign in (1, -1):
            moved = vectors.copy()
            moved[place] += sign * step
            ends.append(sum(plain(moved, same)))
        assert float(given.grad[place]) == pytest.approx((ends[0] - ends[1]) / 2 / step, abs=2e-4)


def test_with_one_positive_of_each_ntxent_is_a_cross_entropy():
    """The published form: the class of picture i is its only positive picture."""
    vectors, same = batch_of("four pairs")
    unit = torch.nn.functional.normalize(torch.tensor(vectors), dim=1)
    logits = (unit @ unit.T / 0.07).masked_fill(torch.eye(8, dtype=torch.bool), -torch.inf)
    partner = torch.tensor([1, 0, 3, 2, 5, 4, 7, 6])
    expected = float(cross_entropy(logits, partner))
    assert float(ntxent(torch.tensor(vectors), torch.tensor(same), "means")) == pytest.approx(
        expected
    )


def test_the_triplet_loss_is_that_of_torch():
    vectors, same = batch_of("uneven")
    unit = torch.nn.functional.normalize(torch.tensor(vectors), dim=1)
    n = range(len(unit))
    places = [(i, j, k) for i in n for j in n for k in n
              if i != j and same[i, j] and not same[i, k]]  # fmt: skip
    theirs = torch.nn.TripletMarginWithDistanceLoss(
        distance_function=lambda a, b: ((a - b) ** 2).sum(1), margin=0.2
    )(*(unit[[place[role] for place in places]] for role in range(3)))
    ours = triplet(torch.tensor(vectors), torch.tensor(same), "means")
    assert float(ours) == pytest.approx(float(theirs))


@torch.no_grad()
@pytest.mark.parametrize("pairs", PAIR_LOSSES)
def test_a_batch_has_the_loss_that_was_asked_for(batch, pairs):
    goya, x, contents, styles = batch
    said, same = goya(x), contents[:, None] == contents
    found = losses(said, same, styles, "means", pairs=pairs, classifies=False)
    one = {"contrastive": contrastive, "ntxent": ntxent, "triplet": triplet}[pairs]
    assert float(found.content) == pytest.approx(float(one(said.projected_content, same, "means")))
    assert float(found.classes) == 0.0
    with_classes = losses(said, same, styles, "means", pairs=pairs)
    assert float(with_classes.classes) == pytest.approx(float(cross_entropy(said.styles, styles)))
    assert float(with_classes.content) == float(found.content)
