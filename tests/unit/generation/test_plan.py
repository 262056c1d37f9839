"""A plan: what several tests need of one image is needed once, all of it."""

from __future__ import annotations

from pytest_t2i.generation.plan import ImageNeeds


def test_needs_of_two_tests_are_those_of_both():
    first = ImageNeeds(*(frozenset({f"{name} 1"}) for name in ImageNeeds._fields))
    second = ImageNeeds(*(frozenset({f"{name} 2"}) for name in ImageNeeds._fields))
    both = first.with_those(second)
    for name, members in both._asdict().items():
        assert members == {f"{name} 1", f"{name} 2"}
    assert first.with_those(first) == first
