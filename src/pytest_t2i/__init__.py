"""Unit tests for the fairness of text-to-image models.

Suites, detectors and models of other projects import all that they need from this package. Its
``arguments``, ``axes``, ``labels``, ``metrics``, ``prompts``, ``sections``, ``statistics`` and
``strategies`` hold further public names. All other modules are private, and their names may move
without notice. An underscore marks a function that no other module uses. The names load on first
use, so that ``import pytest_t2i`` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_t2i import metrics as metrics
    from pytest_t2i import sections as sections
    from pytest_t2i import statistics as statistics
    from pytest_t2i.adapters.devices import memory_guard as memory_guard
    from pytest_t2i.adapters.encoders.routing import load_encoder as load_encoder
    from pytest_t2i.adapters.endpoints.endpoint_model import EndpointModel as EndpointModel
    from pytest_t2i.adapters.finders.ultralytics_guard import ultralytics as ultralytics
    from pytest_t2i.adapters.identity import code_of_factory as code_of_factory
    from pytest_t2i.adapters.languages.endpoint import ChatEndpoint as ChatEndpoint
    from pytest_t2i.adapters.languages.reasoning import without_reasoning as without_reasoning
    from pytest_t2i.adapters.languages.routing import load_language as load_language
    from pytest_t2i.adapters.model_loading import load_pretrained as load_pretrained
    from pytest_t2i.audits.audit import Audit as Audit
    from pytest_t2i.audits.audit import Fixture as Fixture
    from pytest_t2i.audits.audit import Keyword as Keyword
    from pytest_t2i.audits.dependencies.measure import Dependencies as Dependencies
    from pytest_t2i.audits.detector_validation.measure import Trial as Trial
    from pytest_t2i.audits.detector_validation.trials import Trials as Trials
    from pytest_t2i.audits.emergence.sample_members import PromptEmergence
    from pytest_t2i.audits.engine.context import AskedTest as AskedTest
    from pytest_t2i.audits.engine.context import AuditContext as AuditContext
    from pytest_t2i.audits.engine.contrast import Contrast as Contrast
    from pytest_t2i.audits.engine.contrast import ContrastAudit as ContrastAudit
    from pytest_t2i.audits.engine.contrast import Unit as Unit
    from pytest_t2i.audits.engine.contrast import Units as Units
    from pytest_t2i.audits.engine.observations import Observations as Observations
    from pytest_t2i.audits.engine.rows import Rows as Rows
    from pytest_t2i.audits.engine.rows import row_of_measurement as row_of_measurement
    from pytest_t2i.audits.explicit import Explicit as Explicit
    from pytest_t2i.audits.neutrality.measure import TripletSample as TripletSample
    from pytest_t2i.audits.neutrality.measure import TripletSamples as TripletSamples
    from pytest_t2i.audits.next_step import Step as Step
    from pytest_t2i.audits.objects.measure import Objects as Objects
    from pytest_t2i.audits.parity.sample_members import ModelParity, PromptParity
    from pytest_t2i.audits.references.sample_members import ModelDistance, PromptDistance
    from pytest_t2i.audits.refusals import Refusals as Refusals
    from pytest_t2i.audits.refusals import TripletRefusals as TripletRefusals
    from pytest_t2i.audits.rewriting import Rewriting as Rewriting
    from pytest_t2i.audits.stereotypes.measure import Association as Association
    from pytest_t2i.audits.variety.sample_members import ModelVariety, PromptVariety
    from pytest_t2i.cli.support import arguments as arguments
    from pytest_t2i.cli.support.arguments import say as say
    from pytest_t2i.data import FINAL_LATENT as FINAL_LATENT
    from pytest_t2i.data import PLAIN as PLAIN
    from pytest_t2i.data import Attribute as Attribute
    from pytest_t2i.data import Bounds as Bounds
    from pytest_t2i.data import Box as Box
    from pytest_t2i.data import Detection as Detection
    from pytest_t2i.data import Evidence as Evidence
    from pytest_t2i.data import FoundObject as FoundObject
    from pytest_t2i.data import Generated as Generated
    from pytest_t2i.data import GenerationSettings as GenerationSettings
    from pytest_t2i.data import Interval as Interval
    from pytest_t2i.data import Mask as Mask
    from pytest_t2i.data import MetricInfo as MetricInfo
    from pytest_t2i.data import NextToken as NextToken
    from pytest_t2i.data import Outcome as Outcome
    from pytest_t2i.data import PicturePath as PicturePath
    from pytest_t2i.data import Prompt as Prompt
    from pytest_t2i.data import Request as Request
    from pytest_t2i.data import Row as Row
    from pytest_t2i.data import Trace as Trace
    from pytest_t2i.data import Triplet as Triplet
    from pytest_t2i.data import Undetected as Undetected
    from pytest_t2i.data import Variant as Variant
    from pytest_t2i.data import Variation as Variation
    from pytest_t2i.data import Verdict as Verdict
    from pytest_t2i.data import digest as digest
    from pytest_t2i.errors import FileFormatError as FileFormatError
    from pytest_t2i.errors import GenerationError as GenerationError
    from pytest_t2i.errors import LanguageError as LanguageError
    from pytest_t2i.errors import MalformedAnswerError as MalformedAnswerError
    from pytest_t2i.errors import T2IError as T2IError
    from pytest_t2i.files import user_path as user_path
    from pytest_t2i.files import write_whole as write_whole
    from pytest_t2i.generation.plan import DetectorRef as DetectorRef
    from pytest_t2i.generation.plan import Need as Need
    from pytest_t2i.library.audit import Audited as Audited
    from pytest_t2i.library.audit import audit as audit
    from pytest_t2i.library.load import Loaded as Loaded
    from pytest_t2i.library.load import Pictured as Pictured
    from pytest_t2i.library.load import load as load
    from pytest_t2i.library.put_sections import put_sections as put_sections
    from pytest_t2i.library.workbench import Workbench as Workbench
    from pytest_t2i.prompts import Axes, Captions
    from pytest_t2i.prompts import Axis as Axis
    from pytest_t2i.prompts import CaptionFile as CaptionFile
    from pytest_t2i.prompts import Grammar as Grammar
    from pytest_t2i.prompts import Reference as Reference
    from pytest_t2i.prompts import Stereotype as Stereotype
    from pytest_t2i.prompts import Word as Word
    from pytest_t2i.prompts import intersection as intersection
    from pytest_t2i.prompts import read_axes as read_axes
    from pytest_t2i.prompts import read_captions as read_captions
    from pytest_t2i.prompts import read_reference as read_reference
    from pytest_t2i.prompts import read_stereotypes as read_stereotypes
    from pytest_t2i.prompts import strategies as strategies
    from pytest_t2i.prompts import triplet as triplet
    from pytest_t2i.prompts.added_words import counterparts as counterparts
    from pytest_t2i.protocols import AnswerLimits as AnswerLimits
    from pytest_t2i.protocols import Calibrated as Calibrated
    from pytest_t2i.protocols import ComparingMitigation as ComparingMitigation
    from pytest_t2i.protocols import CountsPeople as CountsPeople
    from pytest_t2i.protocols import Detector as Detector
    from pytest_t2i.protocols import Encoder as Encoder
    from pytest_t2i.protocols import Executor as Executor
    from pytest_t2i.protocols import ExecutorOptions as ExecutorOptions
    from pytest_t2i.protocols import FaceDetector as FaceDetector
    from pytest_t2i.protocols import Language as Language
    from pytest_t2i.protocols import LoadOptions as LoadOptions
    from pytest_t2i.protocols import LooksAhead as LooksAhead
    from pytest_t2i.protocols import MadeFor as MadeFor
    from pytest_t2i.protocols import MakesEach as MakesEach
    from pytest_t2i.protocols import MayIgnoreSeeds as MayIgnoreSeeds
    from pytest_t2i.protocols import Mitigation as Mitigation
    from pytest_t2i.protocols import NextTokens as NextTokens
    from pytest_t2i.protocols import ObjectFinder as ObjectFinder
    from pytest_t2i.protocols import OpenSet as OpenSet
    from pytest_t2i.protocols import PassesBySettings as PassesBySettings
    from pytest_t2i.protocols import People as People
    from pytest_t2i.protocols import PersonDetector as PersonDetector
    from pytest_t2i.protocols import PipelineMitigation as PipelineMitigation
    from pytest_t2i.protocols import PromptMitigation as PromptMitigation
    from pytest_t2i.protocols import ReadyMade as ReadyMade
    from pytest_t2i.protocols import TextEmbedding as TextEmbedding
    from pytest_t2i.protocols import TextEncoder as TextEncoder
    from pytest_t2i.protocols import TextToImage as TextToImage
    from pytest_t2i.protocols import Varying as Varying
    from pytest_t2i.protocols import people_of as people_of
    from pytest_t2i.read_files import decode_json as decode_json
    from pytest_t2i.read_files import quoted as quoted
    from pytest_t2i.read_files import read_text as read_text
    from pytest_t2i.read_files import read_toml as read_toml
    from pytest_t2i.reporting.html import write_page as write_page
    from pytest_t2i.reporting.page import SelfContainedPage as SelfContainedPage
    from pytest_t2i.runs.record.picture_paths import locate_pictures as locate_pictures
    from pytest_t2i.runs.record.read_run import read_run as read_run
    from pytest_t2i.runs.record.record import RunRecord as RunRecord
    from pytest_t2i.verdicts.baseline import RecordedRun as RecordedRun
    from pytest_t2i.verdicts.baseline import worsening as worsening
    from pytest_t2i.verdicts.baseline_file import Baseline as Baseline
    from pytest_t2i.verdicts.baseline_file import read_baseline as read_baseline
    from pytest_t2i.verdicts.caveats.caveat import Caveat as Caveat
    from pytest_t2i.verdicts.caveats.seams import Levels as Levels
    from pytest_t2i.verdicts.caveats.seams import Question as Question
    from pytest_t2i.verdicts.limit import limit as limit
    from pytest_t2i.verdicts.measurement import Change as Change
    from pytest_t2i.verdicts.measurement import Compared as Compared
    from pytest_t2i.verdicts.measurement import Measurement as Measurement

    class Sample(PromptParity, PromptVariety, PromptEmergence, PromptDistance):
        """All detections of one prompt, with what the built-in audits measure of them."""

    class Samples(ModelParity, ModelVariety, ModelDistance):
        """The samples of several prompts, with what the built-in audits measure of the model."""

        members: tuple[Sample, ...]

        def __iter__(self) -> Iterator[Sample]: ...

    axes: Axes
    """The five axes of Lyu and the nationalities of OASIS, as attributes.

    >>> from pytest_t2i import axes
    >>> axes.profession.only("nurse").prompts()[0].text
    'a photo of one real person who is a nurse'
    """
    captions: Captions
    """The neutral captions of ``--t2i-captions``, for the marker of a test.

    >>> import pytest
    >>> from pytest_t2i import axes, captions, limit
    >>> @pytest.mark.t2i(captions.or_else(axes.profession))
    ... def test_gap(triplets):
    ...     assert triplets.similarity_gap("prompt") <= limit("similarity_gap", 0.05)
    """
    stereotypes: tuple[Stereotype, ...]
    """The fifteen stereotypes of OASIS Table 1 with their real-world shares.

    >>> from pytest_t2i import stereotypes
    >>> len(stereotypes), stereotypes[0].attribute.name
    (15, 'man')
    """
    __version__: str
    """Version of the installed distribution."""

_HOMES = {
    "metrics": (),
    "sections": (),
    "statistics": (),
    "prompts.strategies": (),
    "data": (
        "FINAL_LATENT", "PLAIN", "Attribute", "Bounds", "Box", "Detection", "Evidence",
        "FoundObject", "Generated", "GenerationSettings", "Interval", "Mask", "MetricInfo",
        "NextToken", "Outcome", "PicturePath", "Prompt", "Request", "Row", "Trace", "Triplet",
        "Undetected", "Variant", "Variation", "Verdict", "digest",
    ),
    "adapters.encoders.routing": ("load_encoder",),
    "adapters.finders.ultralytics_guard": ("ultralytics",),
    "adapters.languages.endpoint": ("ChatEndpoint",),
    "adapters.languages.routing": ("load_language",),
    "adapters.endpoints.endpoint_model": ("EndpointModel",),
    "adapters.languages.reasoning": ("without_reasoning",),
    "adapters.identity": ("code_of_factory",),
    "adapters.devices": ("memory_guard",),
    "reporting.page": ("SelfContainedPage",),
    "adapters.model_loading": ("load_pretrained",),
    "audits.audit": ("Audit", "Fixture", "Keyword"),
    "audits.engine.context": ("AskedTest", "AuditContext"),
    "audits.engine.observations": ("Observations",),
    "audits.engine.contrast": ("Contrast", "ContrastAudit", "Unit", "Units"),
    "audits.engine.rows": ("Rows", "row_of_measurement"),
    "audits.engine.samples": ("Sample", "Samples"),
    "audits.neutrality.measure": ("TripletSample", "TripletSamples"),
    "audits.objects.measure": ("Objects",),
    "audits.dependencies.measure": ("Dependencies",),
    "audits.detector_validation.measure": ("Trial",),
    "audits.detector_validation.trials": ("Trials",),
    "audits.explicit": ("Explicit",),
    "audits.refusals": ("Refusals", "TripletRefusals"),
    "audits.rewriting": ("Rewriting",),
    "audits.stereotypes.measure": ("Association",),
    "generation.plan": ("DetectorRef", "Need"),
    "library.audit": ("Audited", "audit"),
    "library.load": ("Loaded", "Pictured", "load"),
    "library.put_sections": ("put_sections",),
    "library.workbench": ("Workbench",),
    "reporting.html": ("write_page",),
    "cli.support.arguments": ("say",),
    "audits.next_step": ("Step",),
    "errors": (
        "FileFormatError", "GenerationError", "LanguageError", "MalformedAnswerError", "T2IError",
    ),
    "read_files": ("decode_json", "quoted", "read_text", "read_toml"),
    "files": ("user_path", "write_whole"),
    "prompts": (
        "Axis", "CaptionFile", "Grammar", "Reference", "Stereotype", "Word", "intersection",
        "read_axes", "read_captions", "read_reference", "read_stereotypes", "triplet",
    ),
    "prompts.added_words": ("counterparts",),
    "protocols": (
        "AnswerLimits", "Calibrated", "ComparingMitigation", "CountsPeople", "Detector",
        "Encoder", "Executor",
        "ExecutorOptions", "FaceDetector", "Language", "LoadOptions", "LooksAhead", "MadeFor",
        "MakesEach", "MayIgnoreSeeds", "Mitigation",
        "NextTokens", "ObjectFinder", "OpenSet", "PassesBySettings", "People",
        "PersonDetector",
        "PipelineMitigation", "PromptMitigation", "ReadyMade",
        "TextEmbedding", "TextEncoder", "TextToImage", "Varying", "people_of",
    ),
    "runs.record.picture_paths": ("locate_pictures",),
    "runs.record.read_run": ("read_run",),
    "runs.record.record": ("RunRecord",),
    "verdicts.baseline": ("RecordedRun", "worsening"),
    "verdicts.baseline_file": ("Baseline", "read_baseline"),
    "verdicts.caveats.caveat": ("Caveat",),
    "verdicts.caveats.seams": ("Levels", "Question"),
    "verdicts.limit": ("limit",),
    "verdicts.measurement": ("Change", "Compared", "Measurement"),
}  # fmt: skip
"""Module -> the names that the package exports from it; () exports the module itself."""

_MODULES = {home.rpartition(".")[2]: home for home, names in _HOMES.items() if not names} | {
    "arguments": "cli.support.arguments"
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*sorted(_NAMES), *sorted(_MODULES), "axes", "captions", "stereotypes"]  # noqa: PLE0604 - all are str


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    if name in ("axes", "stereotypes"):
        return getattr(import_module(f"{__name__}.prompts"), f"builtin_{name}")()
    if name == "captions":
        return import_module(f"{__name__}.prompts").Captions()
    if name == "__version__":
        return import_module("importlib.metadata").version("pytest-t2i")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
