"""The export to MLflow: scores become metrics of an MLflow run, the report its artifacts."""

from __future__ import annotations

from pathlib import Path

from pytest_t2i.adapters.support.escaping import clean
from pytest_t2i.errors import ConfigurationError, MissingExtraError
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.summaries import series_of_audits

LONGEST = 250
"""Largest number of characters of an MLflow parameter or name."""


def log_to_mlflow(record: RunRecord, report: Path, experiment: str, tracking: str | None) -> str:
    """Log a run to MLflow; return the id of the MLflow run."""
    try:
        import mlflow
        from mlflow.exceptions import MlflowException
    except ImportError:
        raise MissingExtraError("logging to MLflow", "mlflow", "mlflow") from None
    try:
        client = mlflow.MlflowClient(tracking_uri=tracking)
        mlflow_experiment = client.get_experiment_by_name(experiment)
        id_ = (
            mlflow_experiment.experiment_id
            if mlflow_experiment
            else client.create_experiment(experiment)
        )
        run = client.create_run(
            id_, run_name=clean(record.title), tags={"outcome": str(record.outcome)}
        )
        name = run.info.run_id
        for key, value in _parameters(record).items():
            client.log_param(name, key, value[:LONGEST])
        for key, number in metrics_of(record).items():
            client.log_metric(name, key[:LONGEST], number)
        for file in ("run.json", "index.html", "summary.md"):
            if (report / file).is_file():
                client.log_artifact(name, str(report / file))
        client.set_terminated(name)
    except MlflowException as error:
        raise ConfigurationError(f"MLflow refused: {error}") from None
    return str(name)


def _parameters(record: RunRecord) -> dict[str, str]:
    names = ("images", "seed", "confidence")
    settings = {name: str(record.settings[name]) for name in names if name in record.settings}
    parameters = {"model": record.model, "created": record.created} | settings
    return {name: str(clean(value)) for name, value in parameters.items()}


def metrics_of(record: RunRecord) -> dict[str, float]:
    """Return every score with its interval, and counts of checks, under names that MLflow takes."""
    numbers: dict[str, float] = {}
    for name, interval in series_of_audits(record).items():
        path = name.replace(": ", "/")
        clean = "".join(c if c.isalnum() or c in "_-./ " else "_" for c in path)
        for part in ("estimate", "low", "high"):
            numbers[f"{clean}/{part}"] = float(getattr(interval, part))
    for outcome, count in record.tally().items():
        numbers[f"checks/{outcome}"] = float(count)
    return numbers
