"""The options of a run: names and texts alone, as every start of pytest reads them."""

from __future__ import annotations

from typing import NamedTuple

TYPED = "PYTEST_T2I_TYPED"
"""Environment variable: the command ``t2i run ...`` that started pytest, for the run's record."""

LOADED = ("-p", "t2i")
"""Options with which pytest loads the plugin, also where its settings say ``-p no:t2i``."""


class Option(NamedTuple):
    """One option of a run, such as ``--t2i-steps`` of pytest and ``--steps`` of ``t2i``."""

    name: str
    help: str
    metavar: str = "VALUE"
    is_switch: bool = False
    """Whether the command line gives the option without a value."""
    is_repeated: bool = False
    """Whether the option may be given several times; a file has a line, or an element, for each."""
    is_place: bool = False
    """Whether the value may be the path of a folder or file, perhaps after a name and a colon."""

    @property
    def flag(self) -> str:
        return f"--t2i-{self.name}"

    @property
    def ini(self) -> str:
        return f"t2i_{self.name.replace('-', '_')}"


OPTIONS = (
    Option(
        "model",
        "model under test: alias, hub id, folder, images:DIR, SERVICE:MODEL such as openai:MODEL, "
        "or module:factory; several by comma are compared",
        is_place=True,
    ),
    Option(
        "detector",
        "detector: name, name:weights or module:factory (default: the model's); several by comma",
        is_place=True,
    ),
    Option(
        "mitigation",
        "mitigation to test with the model (default: none); t2i list mitigations lists them",
        "NAME[:KEY=VALUE,...]",
    ),
    Option(
        "images",
        "images per prompt (default: 20)",
        "N",
    ),
    Option(
        "seed",
        "seed of the whole run (default: 0)",
        "N",
    ),
    Option(
        "steps",
        "denoising steps (default: the model's)",
        "N",
    ),
    Option(
        "guidance",
        "guidance scale (default: the model's)",
        "X",
    ),
    Option(
        "size",
        "pixels, 512 or 768x512 (default: the model's)",
        "SIZE",
    ),
    Option(
        "model-option",
        "further argument of the pipeline, or field of the request to a service, as in "
        "quality=high; lora=FOLDER_OR_ID:SCALE; may be given several times",
        "KEY=VALUE",
        is_repeated=True,
    ),
    Option(
        "dtype",
        "number format (default: auto)",
    ),
    Option(
        "device",
        "auto, cpu, cuda, cuda:1 or mps (default: auto)",
    ),
    Option(
        "batch",
        "images per batch, or auto (default: auto)",
        "N",
    ),
    Option(
        "executor",
        "executor that makes the images: auto, in-process, processes:N or a registered name "
        "(default: auto)",
    ),
    Option(
        "detect-where",
        "where detectors run: here, or worker, in the workers of processes:N or ray "
        "(default: here)",
    ),
    Option(
        "catalogue",
        "TOML file of the project's own models and weights",
        "FILE",
    ),
    Option(
        "store",
        "folder of images and detections (default: .t2i)",
        "DIR",
    ),
    Option(
        "labels",
        "labelled images, folder or Label Studio export: to evaluate detectors, correct the run",
        is_place=True,
    ),
    Option(
        "judge-certificate",
        "certificate of the judged detector, from t2i detector check: verdicts have a worst case "
        "over its errors, and another version of the detector decides nothing",
        "FILE",
    ),
    Option(
        "limits",
        "TOML file of limits (default: limits.toml near the test)",
        "FILE",
    ),
    Option(
        "reference",
        "shares of labels to compare with: uniform, oasis or a TOML file",
        "FILE",
    ),
    Option(
        "objects",
        "object detector: name, name:weights or module:factory, or auto for the model's; "
        "without it, tests of objects are skipped",
        is_place=True,
    ),
    Option(
        "captions",
        "captions as prompts: COCO or TextCaps JSON, Flickr30k tokens, GCC TSV or plain lines",
        "FILE",
    ),
    Option(
        "baseline",
        "recorded run to compare with",
        "FILE",
    ),
    Option(
        "anchor",
        "recorded run of the first release, which is never recorded anew: what is compared with "
        "the baseline is compared with it, too, so that many small steps are found",
        "FILE",
    ),
    Option(
        "save-baseline",
        "record this run as a baseline",
        "FILE",
    ),
    Option(
        "confidence",
        "one-sided confidence level of verdicts (default: 0.95; intervals are two-sided at 0.90)",
        "LEVEL",
    ),
    Option(
        "run-level",
        "one confidence level for all comparisons of the run together: each fails at its part of "
        "the error (default: each has --t2i-confidence for itself)",
        "LEVEL",
    ),
    Option(
        "inconclusive",
        "what an inconclusive check does, of a prompt and of the model: pass, status (exit status "
        "6), fail or estimate; one word, or two separated by a comma (default: pass,status)",
    ),
    Option(
        "undetected-alike",
        "share of a check's images up to which undetected ones are taken to be like the others "
        "(default: 0, a verdict holds whatever they show)",
        "SHARE",
    ),
    Option(
        "report",
        "folder for run.json, index.html, summary.md (default: reports/t2i)",
        "DIR",
    ),
    Option(
        "force-baseline",
        "compare with a baseline made under other settings",
        is_switch=True,
    ),
    Option(
        "trust-remote-code",
        "allow code from a hub repository to run",
        is_switch=True,
    ),
    Option(
        "answer-deadline",
        "longest time for one answer of a server, all attempts together (default: 300)",
        "SECONDS",
    ),
    Option(
        "concurrency",
        "most requests to a model behind HTTP at the same time (default: 8)",
        "N",
    ),
    Option(
        "price",
        'price of one image, "0.04 USD" (default: the catalogue\'s)',
        "MONEY",
    ),
    Option(
        "budget",
        'most that the run may spend on a model behind HTTP and on a judge together, "5 USD"; the '
        "run stops there, and a further budget continues it (default: any amount)",
        "MONEY",
    ),
    Option(
        "probe",
        "when to probe whether the model honours seeds, batches and guidance: once, before its "
        "first picture, again or never (default: once)",
        "WHEN",
    ),
    Option(
        "sequential",
        "make images in rounds, until each test is decided",
        is_switch=True,
    ),
)

GROUPS: dict[str, tuple[str, ...]] = {
    "what everybody needs": (
        "model", "detector", "images", "seed", "limits", "baseline", "save-baseline", "sequential",
        "inconclusive", "labels", "store", "report",
    ),
    "images": (
        "steps", "guidance", "size", "model-option", "dtype", "device", "batch", "executor",
        "detect-where", "mitigation", "captions", "objects",
    ),
    "models behind HTTP": ("price", "budget", "concurrency", "answer-deadline", "probe"),
    "evidence": (
        "confidence", "run-level", "anchor", "force-baseline", "judge-certificate", "reference",
        "undetected-alike",
    ),
    "for experts": ("catalogue", "trust-remote-code"),
}  # fmt: skip
"""Title of a group -> the names of its options; ``pytest --help`` shows those of the first."""
EVERYDAY = GROUPS["what everybody needs"]
