"""The search, shrinking and confirmation on worlds whose shares are known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hunt import Maker, World, pair
from pytest_t2i import axes
from pytest_t2i.errors import T2IError
from pytest_t2i.prompts import Part, templates

from pytest_t2i_hunt.search import HELD_OUT, Counts, Plan, hunt
from pytest_t2i_hunt.search.confirming import Suspect, confirm
from pytest_t2i_hunt.search.hunt import explains, open_signs, shrink
from pytest_t2i_hunt.search.ledger import Ledger

CUP, HOSPITAL = Part(axes.object, "cup"), Part(axes.place, "hospital")
INDIAN, MUSEUM = Part(axes.nationality, "Indian"), Part(axes.place, "museum")
SMALL = (axes.nationality, axes.object.only("cup", "book"), axes.place.only("hospital", "museum"))
PLANTED = pair("cup", "hospital")


def words(found):
    return {part.concept for part in found.parts}


def small_world(**options):
    parts = [Part(axis, word) for axis in SMALL for word in axis.concepts]
    by_word = {part.concept: part for part in parts}
    world = World(SMALL, options.get("single", {}), options.get("planted", {}))
    return world, by_word


class TestCounts:
    def test_no_clear_image_has_no_score_and_no_promise(self):
        hazy = Counts(0, 0, 16)
        assert hazy.score is None
        assert hazy.promise(1, 0.5) == hazy.promise(-1, 0.5) == 0.0

    def test_promise_grows_with_the_evidence(self):
        few, more, most = (Counts(n, 0, n).promise(1, 0.5) for n in (2, 4, 16))
        assert few < more < most

    def test_an_undetected_image_is_no_gender(self):
        assert Counts(3, 1, 10).score == 0.5


class TestExplaining:
    male_cup = Suspect((CUP,), 1)

    def test_a_finding_explains_combinations_that_lean_its_way(self):
        assert explains(self.male_cup, (CUP, HOSPITAL), 1)

    def test_it_does_not_explain_one_that_turns_the_other_way(self):
        assert not explains(self.male_cup, (CUP, HOSPITAL), -1)
        assert open_signs((CUP, HOSPITAL), [self.male_cup]) == (-1,)

    def test_nor_one_without_its_words(self):
        assert open_signs((HOSPITAL,), [self.male_cup]) == (1, -1)


class TestLedger:
    def test_no_image_is_asked_for_twice(self):
        maker = Maker(World(SMALL), 0)
        ledger = Ledger(maker, 100)
        ledger.look({(CUP,): 4})
        ledger.look({(CUP,): 10})
        ledger.look({(CUP,): 8})
        assert ledger.spent == maker.made == 10

    def test_what_was_looked_at_in_steps_is_what_one_look_shows(self):
        entry, two = (Ledger(Maker(World(SMALL), 0), 100) for _ in range(2))
        entry.look({(CUP,): 16})
        for images in (4, 8, 16):
            two.look({(CUP,): images})
        assert entry.of((CUP,)) == two.of((CUP,))

    def test_the_budget_is_never_exceeded(self):
        maker = Maker(World(SMALL), 0)
        ledger = Ledger(maker, 10)
        with pytest.raises(ValueError, match="leaves 10, got 11"):
            ledger.look({(CUP,): 11})
        assert maker.made == 0

    def test_held_out_images_have_numbers_of_their_own(self):
        asked = []

        def measure(wanted):
            asked.extend(wanted.items())
            return {parts: Counts(len(n), 0, len(n)) for parts, n in wanted.items()}

        ledger = Ledger(measure, 1000)
        ledger.look({(CUP,): 32})
        ledger.hold_out([(CUP,)], 30)
        (_, searched), (_, held) = asked
        assert not set(searched) & set(held)
        assert held.start == HELD_OUT


class TestShrinking:
    @pytest.mark.parametrize(
        ("planted", "sign"), [({PLANTED: 0.95}, 1), ({pair("Indian", "museum"): -0.95}, -1)]
    )
    def test_to_the_planted_words(self, planted, sign):
        world, by_word = small_world(planted=planted)
        (target,) = planted
        others = {"cup", "hospital", "Indian"} if sign > 0 else {"cup", "museum", "Indian"}
        start = Suspect(tuple(by_word[word] for word in sorted(others)), sign)
        for run in range(10):
            result = shrink(Ledger(Maker(world, run), 1000), start, 0.5)
            assert words(result) == target

    def test_to_a_single_word(self):
        world, _ = small_world(single={"cup": 0.95})
        result = shrink(Ledger(Maker(world, 0), 1000), Suspect((INDIAN, CUP, HOSPITAL), 1), 0.5)
        assert result == Suspect((CUP,), 1)

    def test_a_part_that_leans_the_other_way_is_no_explanation(self):
        world, _ = small_world(single={"Indian": 0.9}, planted={pair("Indian", "museum"): -0.95})
        result = shrink(Ledger(Maker(world, 0), 1000), Suspect((INDIAN, MUSEUM), -1), 0.5)
        assert result.parts == (INDIAN, MUSEUM)

    def test_it_costs_no_more_than_planned(self):
        plan = Plan(SMALL, 1000)
        for run in range(20):
            ledger = Ledger(
                Maker(World(SMALL, {"cup": 0.5, "hospital": 0.5, "Indian": 0.5}), run), 1000
            )
            shrink(ledger, Suspect((INDIAN, CUP, HOSPITAL), 1), 0.5)
            assert ledger.spent <= plan.shrinking


class TestConfirming:
    @staticmethod
    def judged(held, sign=1, **options):
        def measure(wanted):
            return dict.fromkeys(wanted, held)

        ledger = Ledger(measure, 1000)
        (result,) = confirm(ledger, [Suspect((CUP,), sign)], Plan(SMALL, 1000, **options))
        return result

    def test_clear_evidence_confirms(self):
        confirms = self.judged(Counts(30, 0, 30))
        assert confirms.confirmed
        assert confirms.interval.low > 0.5
        assert confirms.p_value < 0.001

    @pytest.mark.parametrize(
        ("held", "why"),
        [
            (Counts(0, 0, 30), "no held-out image is clear"),
            (Counts(0, 30, 30), "do not lean that way"),
            (Counts(16, 14, 30), "lie within the bound"),
            (Counts(24, 6, 30), "too close to the bound"),
            (Counts(18, 0, 30), "12 of 30 held-out images are undetected"),
        ],
    )
    def test_why_a_finding_is_not_confirmed(self, held, why):
        result = self.judged(held)
        assert not result.confirmed
        assert why in result.why_not

    def test_many_findings_share_one_level(self):
        """27 of 30 (p = 0.037) is evidence alone, not among ten that show nothing."""

        def measure(wanted):
            even = dict.fromkeys(wanted, Counts(15, 15, 30))
            return even | {entry: Counts(27, 3, 30) for entry in wanted if entry == (CUP,)}

        plan = Plan(SMALL, 1000)
        others = [Suspect((part,), 1) for part in plan.pool if part != CUP]
        alone = confirm(Ledger(measure, 1000), [Suspect((CUP,), 1)], plan)
        among = confirm(Ledger(measure, 1000), [Suspect((CUP,), 1), *others], plan)
        assert [entry.confirmed for entry in alone] == [True]
        assert not any(entry.confirmed for entry in among)

    def test_nothing_found_is_nothing_confirmed(self):
        assert confirm(Ledger(lambda _: {}, 10), [], Plan(SMALL, 1000)) == ()


class TestHunt:
    def test_planted_words_are_found_and_nothing_else(self):
        world, _ = small_world(planted={PLANTED: 0.95})
        result = hunt(Maker(world, 1), Plan(SMALL, 700)).findings
        assert [words(entry) for entry in result if entry.confirmed] == [PLANTED]

    def test_what_turns_against_its_word_is_found_beside_it(self):
        turned = pair("Indian", "museum")
        world, _ = small_world(single={"Indian": 0.95}, planted={turned: -0.95})
        result = [
            finding
            for finding in hunt(Maker(world, 1), Plan(SMALL, 900)).findings
            if finding.confirmed
        ]
        assert [(words(entry), entry.sign) for entry in result] == [(turned, -1), ({"Indian"}, 1)]

    def test_combinations_that_a_word_explains_are_no_findings(self):
        world, _ = small_world(single={"cup": 1.0, "Indian": 1.0})
        findings = hunt(Maker(world, 1), Plan(SMALL, 900)).findings
        assert {frozenset(words(entry)) for entry in findings if entry.confirmed} == {
            frozenset({"cup"}), frozenset({"Indian"}),
        }  # fmt: skip

    @pytest.mark.slow
    @pytest.mark.parametrize("share", [0.5, 0.75, 0.97])
    @pytest.mark.parametrize("budget", [350, 500, 1500])
    def test_images_never_exceed_the_budget(self, share, budget):
        everywhere = dict.fromkeys([p.concept for p in Plan(SMALL, 500).pool], 2 * share - 1)
        for run in range(4):
            maker = Maker(World(SMALL, everywhere), run)
            hunted = hunt(maker, Plan(SMALL, budget, seed=run))
            assert maker.made == hunted.images <= budget

    def test_the_same_seed_finds_the_same(self):
        world, _ = small_world(planted={PLANTED: 0.95})
        first, again = (hunt(Maker(world, 3), Plan(SMALL, 600, seed=5)) for _ in range(2))
        assert first == again

    def test_an_axis_alone_is_a_hunt_for_words(self):
        world = World((axes.object,), {"cup": 0.97})
        result = hunt(Maker(world, 0), Plan((axes.object,), 400)).findings
        assert [words(entry) for entry in result if entry.confirmed] == [{"cup"}]

    def test_a_template_is_found_as_a_word_is(self):
        drawn = templates("a drawing of a person", "a portrait of a person")
        world = World((axes.object, drawn), {"a portrait of a person": 0.97})
        result = hunt(Maker(world, 0), Plan((axes.object, drawn), 500)).findings
        assert [words(entry) for entry in result if entry.confirmed] == [{"a portrait of a person"}]

    def test_images_without_a_label_are_counted_and_find_nothing(self):
        world = replace(World(SMALL), undetected=1.0)
        hunted = hunt(Maker(world, 0), Plan(SMALL, 500))
        assert hunted.findings == ()
        assert hunted.undetected == hunted.images


class TestPlan:
    def test_the_full_grid(self):
        plan = Plan((axes.object, axes.place, axes.nationality), 2000)
        assert plan.combinations == 23 + 160 + 300
        assert plan.full_grid == 20 * plan.combinations

    def test_a_budget_too_small_says_the_smallest(self):
        with pytest.raises(T2IError, match="needs at least 250 images") as told:
            Plan(SMALL, 10)
        assert "got 10" in str(told.value)
        assert Plan(SMALL, 250).budget == 250

    @pytest.mark.parametrize("given", [(), (axes.place, axes.place)])
    def test_axes_that_cannot_be_crossed(self, given):
        with pytest.raises(T2IError, match="one or more axes, each once"):
            Plan(given, 1000)
