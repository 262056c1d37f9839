"""An audit that is a package: its parts stand in modules beside its class."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.summary import Summary

if TYPE_CHECKING:
    from pytest_t2i.audits.context import AuditContext
    from pytest_t2i.sections import Section


class PackagedAudit(Audit[Any]):
    """Keeps what ``record.measured`` gives, and shows it by ``report.sections`` and ``summary``.

    Both modules stand beside its class and are imported when they are needed: every start of pytest
    loads the class alone.
    """

    keeps: str
    """Name of its record's class, in ``record``."""

    @property
    def record_type(self) -> type[Any]:
        """Its part of run.json."""
        kind: type[Any] = getattr(self._beside("record"), self.keeps)
        return kind

    def record(self, context: AuditContext) -> Any | None:
        """What was measured; None where nothing was."""
        return self._beside("record").measured(context)

    def sections(self, record: Any, run: Any) -> Sequence[Section]:
        """What reports show."""
        shown: Sequence[Section] = self._beside("report").sections(record, run)
        return shown

    def summary(self, record: Any) -> Summary:
        """What other places show."""
        told: Summary = self._beside("report").summary(record)
        return told

    def _beside(self, module: str) -> ModuleType:
        return import_module(f"{type(self).__module__}.{module}")
