"""The networks and losses are those of the thesis, by another way of computing them."""

from __future__ import annotations

import pytest
import torch
from torch.nn import CosineEmbeddingLoss
from torch.nn.functional import cosine_similarity, cross_entropy

from pytest_t2i_goya.losses import contrastive, losses
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
