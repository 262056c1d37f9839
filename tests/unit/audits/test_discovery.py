"""Audits are found by name, sorted by what they read, and refused with a reason."""

from __future__ import annotations

import pytest

from pytest_t2i.adapters.registry import Registries
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import audits_of, installed_audits
from pytest_t2i.data import MetricInfo
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.metrics.info import INFO, register


def audit(called, *, comes_after=()):
    return type("Made", (Audit,), {"name": called, "after": comes_after})


def registered(**audits):
    registries = Registries()
    registries.audits.update(audits)
    return audits_of(registries)


def test_built_in_audits_are_registered_as_others_are():
    names = [one.name for one in installed_audits()]
    assert "variety" in names
    assert len(set(names)) == len(names)


def test_an_audit_stands_behind_those_whose_records_it_reads():
    names = [one.name for one in registered(a=audit("a", comes_after=("z",)), z=audit("z"))]
    assert names.index("z") < names.index("a")


def test_an_audit_that_waits_for_itself_is_refused():
    first, second = audit("a", comes_after=("b",)), audit("b", comes_after=("a",))
    with pytest.raises(ConfigurationError, match="records in a cycle: "):
        registered(a=first, b=second)


def test_an_audit_after_an_unknown_one_is_refused():
    with pytest.raises(UnknownNameError, match="varietyy"):
        registered(a=audit("a", comes_after=("varietyy",)))


@pytest.mark.parametrize("door", ["of_sample", "of_samples"])
def test_two_audits_cannot_add_the_same_name_to_samples(door):
    def adding(called):
        return type("Made", (Audit,), {"name": called, door: {"share": len}})

    with pytest.raises(ConfigurationError, match=f"'a' and 'b' both add 'share' by {door}: rename"):
        registered(a=adding("a"), b=adding("b"))


@pytest.mark.parametrize("factory", [dict, audit("other")])
def test_what_is_no_audit_of_its_name_is_refused(factory):
    with pytest.raises(ConfigurationError, match="audit 'mine': expected a factory"):
        registered(mine=factory)


MINE = MetricInfo("simpson_of_a_test", 0.0, 1.0, "lower", "Simpson 1949", "Simpson diversity")


def test_a_metric_that_is_registered_is_known():
    register(MINE)
    register(MINE)
    assert INFO["simpson_of_a_test"].words == "Simpson diversity"


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        (MetricInfo("a b", 0.0, 1.0, "lower", ""), "identifier"),
        (MetricInfo("mine", 0.0, 1.0, "worse", ""), "worse direction"),
        (MetricInfo("mine", 1.0, 1.0, "lower", ""), "expected low < high"),
        (MetricInfo("wals", 0.0, 1.0, "higher", ""), "'wals' is registered already"),
    ],
)
def test_what_cannot_be_a_metric_is_refused(metric, told):
    with pytest.raises(ConfigurationError, match=told):
        register(metric)
