"""``--t2i-model a,b``: one suite on several models, each in a run of its own, then compared."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_t2i.errors import T2IError
from pytest_t2i.files import file_name, from_here
from pytest_t2i.plugin.exit_status import WORST, worst_status
from pytest_t2i.reporting.report_folders import remove_link
from pytest_t2i.settings import Settings


def models_of(model: str | None) -> list[str]:
    """Return the models of the option's value, separated by commas, unless it is a path.

    >>> models_of("sdxl,sd3"), models_of("sdxl")
    (['sdxl', 'sd3'], ['sdxl'])
    """
    if model is None or "," not in model or Path(model.removeprefix("images:")).exists():
        return [] if model is None else [model]
    return [name.strip() for name in model.split(",") if name.strip()]


def run_each(config: pytest.Config, settings: Settings, models: Sequence[str]) -> int:
    """Run pytest once per model, compare the runs, and return the worst exit status."""
    if settings.save_baseline is not None:
        raise pytest.UsageError(
            "--t2i-save-baseline records one model: run it for each of them by itself"
        )
    if settings.budget is not None or settings.price is not None:
        raise pytest.UsageError(
            "--t2i-price and --t2i-budget are of one model: run each by itself, then t2i compare"
        )
    statuses, folders = [], [settings.report / file_name(model) for model in models]
    if len(set(folders)) < len(models):
        raise pytest.UsageError(f"--t2i-model: expected different models, got {', '.join(models)}")
    for folder in folders:
        remove_link(folder)
    try:
        for model, folder in zip(models, folders, strict=True):
            more = ["--t2i-model", model, "--t2i-report", str(folder)]
            command = _with_options(config.invocation_params.args, more)
            status = subprocess.run(  # noqa: S603 - this very command, once for each model
                [sys.executable, "-m", "pytest", *command],
                cwd=config.invocation_params.dir,
                check=False,
            ).returncode
            if status not in WORST:
                return int(status)
            statuses.append(status)
    except KeyboardInterrupt:
        return int(pytest.ExitCode.INTERRUPTED)
    _compare_runs(settings, folders)
    return worst_status(statuses)


def _with_options(args: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return the command with further options, inserted before a ``--``.

    >>> _with_options(["suites", "--", "-x.py"], ["--t2i-model", "a"])
    ['suites', '--t2i-model', 'a', '--', '-x.py']
    """
    arguments = list(args)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*arguments[:end], *more, *arguments[end:]]


def _compare_runs(settings: Settings, folders: Sequence[Path]) -> None:
    """Print and write the comparison, or print why the models cannot be compared."""
    from pytest_t2i.cli.support.arguments import say
    from pytest_t2i.reporting.comparison import comparison_lines, write_comparison
    from pytest_t2i.runs.compare.compare import compare_models
    from pytest_t2i.runs.compare.read_compared_models import read_compared_models

    try:
        runs = [folder / "run.json" for folder in folders]
        models = read_compared_models(runs, stores=[settings.store])
        comparison = compare_models(models, level=settings.confidence, seed=settings.seed)
        write_comparison(comparison, settings.report)
    except T2IError as error:
        print(f"t2i: the models are not compared: {error}", file=sys.stderr)  # noqa: T201
        return
    first, *rest = comparison_lines(comparison)
    page = from_here(settings.report / "index.html")
    for line in ("", f"t2i: {first}", *rest, f"report: {page}"):
        say(line)
