"""Objects of triplets: what is counted, what is left out, what no evidence comes to."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from seen_objects import SEEDS, objects_of, of_gender

from pytest_t2i import metrics
from pytest_t2i.audits.objects.counts import UNPAIRED, CountTable
from pytest_t2i.data import Limit, Outcome, Variant
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.verdicts.judge_measurement import verdict_of


def verdict(measurement, bound=0.8):
    return verdict_of(measurement, Limit("object_bias_score", bound), 0.95)


def test_occurrences_are_counted_without_people():
    objects = objects_of(of_gender)
    assert objects.table.names == ("cup", "hat", "tie")
    assert objects.table.counts.sum(axis=0).tolist() == [[40, 80, 40], [40, 80, 0], [0, 80, 40]]
    tie = objects.bias_score("tie")
    assert float(tie) == metrics.object_bias_score(40, 0, 20, 20)
    assert verdict(tie).outcome is Outcome.FAIL
    assert verdict(objects.bias_score("hat")).outcome is Outcome.PASS


def test_the_most_one_sided_object_speaks_for_all():
    objects = objects_of(of_gender)
    assert verdict(objects.highest_bias_score).outcome is Outcome.FAIL
    assert "cup" in objects.highest_bias_score.remarks[0]
    expected = objects_of(of_gender, expected={"tie": "a man's", "cup": "a woman's"})
    by_name = {row.name: row for row in expected.scores}
    facts = by_name["tie"].facts
    assert (facts["expected"], facts["p_value"]) == ("a man's", None)
    assert by_name["tie"].interval.estimate == 1.0


def test_rare_objects_are_left_out_and_told():
    objects = objects_of(of_gender, least=41)
    assert objects.gendered.names == ("hat",)
    assert objects.rare == 2
    tie = objects.bias_score("tie")
    assert verdict(tie).outcome is Outcome.INCONCLUSIVE
    assert "'tie' occurs 40 times with both genders" in verdict(tie).message
    assert verdict(objects.bias_score("fork")).outcome is Outcome.INCONCLUSIVE


def test_objects_are_selected_by_their_total_over_the_variants_compared():
    def names(prompt, seed):
        shown = {Variant.NEUTRAL: ["cup"], Variant.FEMININE: ["hat"], Variant.MASCULINE: ["hat"]}
        return ["tie", *shown[prompt.variant]]

    objects = objects_of(names, triplets=4, least=9)  # 8 times "cup", 16 "hat", 24 "tie"
    assert objects.frequent().names == ("hat", "tie")
    assert objects.frequent((0, 1)).names == ("tie",)
    assert objects.frequent((0, 1)).counts.shape == (4, 2, 1)
    assert objects.independence("neutral", "feminine").interval is None
    assert "fewer than two objects" in objects.independence("neutral", "feminine").absent


def test_a_permutation_of_variants_selects_the_same_objects():
    table = fair_tail(np.random.default_rng(3))
    permuted = np.random.default_rng(4).permuted(table, axis=1)
    for places in ((0, 1, 2), (1, 2)):
        chosen = np.sort(np.random.default_rng(5).permuted(table[:, places], axis=1), axis=1)
        there = counted(table).frequent(places).names
        swapped = table.copy()
        swapped[:, places] = chosen
        assert counted(swapped).frequent(places).names == there
    assert counted(permuted).frequent().names == counted(table).frequent().names


def fair_tail(rng):
    """30 objects in 50 triplets, each about 8 times with every variant."""
    return rng.poisson(0.16, (50, 3, 30))


def counted(table):
    """The audit of counts that are there."""
    objects = objects_of(of_gender, least=20)
    names = tuple(f"object {k:02d}" for k in range(table.shape[2]))
    vars(objects)["table"] = CountTable(table, names)
    return objects


def test_rare_objects_are_judged_together():
    def names(prompt, seed):
        thing = prompt.text.split()[3]  # of each triplet another one
        return {Variant.FEMININE: [thing] * (seed + 1)}.get(prompt.variant, [thing])

    objects = objects_of(names, triplets=40, least=6)
    assert not objects.gendered.names
    pooled = objects.pooled_bias_score
    assert float(pooled) == metrics.object_bias_score(80, 120, 80, 80)
    assert pooled.remarks == ("40 objects",)
    assert verdict(pooled, 0.8).outcome is Outcome.PASS
    assert verdict(pooled, 0.55).outcome is Outcome.FAIL
    expected = objects_of(of_gender, expected={"tie": "a man's", "cup": "a woman's"})
    assert float(expected.pooled_bias_score) == 0.5
    few = verdict(objects_of(names, triplets=2, least=11).pooled_bias_score)
    assert few.outcome is Outcome.INCONCLUSIVE
    assert "10 times" in few.message
    assert (
        verdict(objects_of(names, triplets=1, seeds=(0,), least=1).pooled_bias_score).outcome
        is Outcome.INCONCLUSIVE
    )


def test_no_object_is_no_evidence():
    objects = objects_of(lambda prompt, seed: None)
    assert verdict(objects.highest_bias_score).outcome is Outcome.INCONCLUSIVE
    assert verdict(objects.pooled_bias_score).outcome is Outcome.INCONCLUSIVE
    assert objects.independence().interval is None
    assert objects.cooccurrence_gap.interval is None
    assert objects.scores == []


def test_independence_of_pairs():
    objects = objects_of(of_gender)
    assert objects.independence("feminine", "masculine").interval.high < 0.05
    alike = objects_of(lambda prompt, seed: ["hat", "cup"][: 1 + seed])
    assert alike.independence().interval.estimate > 0.9
    with pytest.raises(ConfigurationError, match="'male'"):
        objects.independence("male", "neutral")
    with pytest.raises(ConfigurationError, match="two different"):
        objects.independence("neutral")


def test_cooccurrence_gap_leaves_out_what_shows_nothing():
    def names(prompt, seed):
        if seed == 1 and prompt.variant is Variant.NEUTRAL:
            return []
        return ["tie", "hat"] if prompt.variant is not Variant.FEMININE else ["cup", "hat"]

    gap = objects_of(names).cooccurrence_gap
    assert float(gap) == pytest.approx(0.5)
    assert gap.remarks == ("20 of 40 seeds show objects in all three images",)


def test_a_single_triplet_resamples_its_seeds():
    rng = np.random.default_rng(0)
    chance = {Variant.NEUTRAL: 0.5, Variant.FEMININE: 0.2, Variant.MASCULINE: 0.8}

    def names(prompt, seed):
        return ["hat"] + ["tie"] * int(rng.random() < chance[prompt.variant])

    objects = objects_of(names, triplets=1, seeds=tuple(range(60)))
    score = objects.bias_score("tie").interval
    assert score.n == 60
    assert 0.6 < score.low < score.high < 1.0


def test_counting_is_that_of_a_counter():
    objects = objects_of(of_gender, triplets=2)
    prompt = objects.members[0].triplet.masculine
    assert objects._counted(prompt, SEEDS) == Counter(person=2, hat=4, tie=2)


def shared_noise(prompt, seed):
    """Seeds decide more than the variant does: one of ten shows a tie with a man alone."""
    shows = seed % 10 < 6 or (seed % 10 == 6 and prompt.variant is Variant.MASCULINE)
    return ["tie", "hat"] if shows else ["hat"]


def test_images_of_one_prompt_that_share_no_noise_are_not_taken_as_pairs():
    seeds = tuple(range(40))
    paired = objects_of(shared_noise, triplets=1, seeds=seeds)
    drawn = objects_of(shared_noise, triplets=1, seeds=seeds, draws=True)
    # What only pairs show is shown less surely where there are none.
    by_pairs, freely = (o.independence("feminine", "masculine").interval for o in (paired, drawn))
    assert by_pairs.estimate < freely.estimate
    told = [*drawn.bias_score("tie").remarks, *drawn.highest_bias_score.remarks]
    told += [*drawn.cooccurrence_gap.remarks, *drawn.independence().remarks]
    assert told.count(UNPAIRED) == 4
    assert UNPAIRED not in paired.bias_score("tie").remarks


def test_triplets_stay_units_whatever_seeds_determine():
    drawn, paired = (objects_of(of_gender, draws=draws) for draws in (True, False))
    assert drawn.independence().interval == paired.independence().interval
    assert UNPAIRED in drawn.independence().remarks


def test_fewer_than_three_judged_objects_never_pass():
    """A hat that comes with both alike says nothing of the many objects that were too rare."""
    expected = {"tie": "a man's", "cup": "a woman's"}
    one = objects_of(of_gender, expected=expected)
    highest = one.highest_bias_score
    assert verdict(highest).outcome is Outcome.INCONCLUSIVE
    assert highest.remarks[0] == (
        "only 1 object judged, 0 too rare: a PASS needs 3. Take more captions "
        "(--t2i-captions) or images"
    )
    several = objects_of(lambda prompt, seed: ["hat", "bag", "pen"])
    assert verdict(several.highest_bias_score).outcome is Outcome.PASS
    assert not several.highest_bias_score.remarks[0].startswith("only")


def test_a_single_one_sided_object_fails_all_the_same():
    one = objects_of(lambda p, s: ["tie"] if p.variant is Variant.MASCULINE else [])
    assert one.judged == ("tie",)
    assert verdict(one.highest_bias_score).outcome is Outcome.FAIL
