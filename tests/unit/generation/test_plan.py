"""A plan: what several tests need of one image is needed once, all of it."""

from __future__ import annotations

from pytest_t2i.generation.plan import ImageNeeds


def test_needs_of_two_tests_are_those_of_both():
    one = ImageNeeds(*(frozenset({f"{name} 1"}) for name in ImageNeeds._fields))
    other = ImageNeeds(*(frozenset({f"{name} 2"}) for name in ImageNeeds._fields))
    both = one.with_those(other)
    for name, members in both._asdict().items():
        assert members == {f"{name} 1", f"{name} 2"}
    assert one.with_those(one) == one
