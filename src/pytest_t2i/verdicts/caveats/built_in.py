"""The caveats of verdicts: our own, in the order in which they are asked, and registered ones."""

from __future__ import annotations

from pytest_t2i.adapters.registry import Registry
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.verdicts.caveats.anchor import AnchorLevel
from pytest_t2i.verdicts.caveats.calibration import Calibration
from pytest_t2i.verdicts.caveats.certificate import CertifiedDetector
from pytest_t2i.verdicts.caveats.earlier_looks import EarlierLooks
from pytest_t2i.verdicts.caveats.equal_pictures import EqualPictures
from pytest_t2i.verdicts.caveats.run_level import SharedLevel
from pytest_t2i.verdicts.caveats.seams import Level, Reading, Remark, Void
from pytest_t2i.verdicts.caveats.shared_seeds import SharedSeeds
from pytest_t2i.verdicts.caveats.undetected import UndetectedImages

BUILT_IN: tuple[object, ...] = (
    Calibration(),
    CertifiedDetector(),
    SharedSeeds(),
    EqualPictures(),
    AnchorLevel(),
    SharedLevel(),
    UndetectedImages(),
    EarlierLooks(),
)
"""No verdict may miss one of them, so that they are no entry points."""
READINGS = tuple(caveat for caveat in BUILT_IN if isinstance(caveat, Reading))
"""The ways to count images in which the evidence of every audit must hold in every run."""


def all_caveats(registry: Registry) -> tuple[object, ...]:
    """Return our own caveats and those of companions or a conftest.py, by their names.

    Raises ConfigurationError for an object without the method of a seam.
    """
    registered = {name: registry.get(name)() for name in registry.names()}
    for name, caveat in registered.items():
        if not isinstance(caveat, Void | Reading | Level | Remark):
            raise ConfigurationError(
                f"caveat {name!r}: expected a factory of an object with void(question), "
                "reading(counted, side) and fills_in, level(question, levels) or "
                f"remark(question, verdict), got {caveat!r}"
            )
    return (*BUILT_IN, *registered.values())
