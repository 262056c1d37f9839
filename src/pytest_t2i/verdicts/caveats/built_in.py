"""The caveats that every verdict has, in the order in which they are asked."""

from __future__ import annotations

from pytest_t2i.verdicts.caveats.anchor import AnchorLevel
from pytest_t2i.verdicts.caveats.calibration import Calibration
from pytest_t2i.verdicts.caveats.certificate import CertifiedDetector
from pytest_t2i.verdicts.caveats.earlier_looks import EarlierLooks
from pytest_t2i.verdicts.caveats.equal_pictures import EqualPictures
from pytest_t2i.verdicts.caveats.run_level import SharedLevel
from pytest_t2i.verdicts.caveats.shared_seeds import SharedSeeds
from pytest_t2i.verdicts.caveats.undetected import Undetected

BUILT_IN: tuple[object, ...] = (
    Calibration(),
    CertifiedDetector(),
    SharedSeeds(),
    EqualPictures(),
    AnchorLevel(),
    SharedLevel(),
    Undetected(),
    EarlierLooks(),
)
"""No verdict may miss one of them, so that they are no entry points."""
