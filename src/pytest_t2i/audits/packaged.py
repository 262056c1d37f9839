"""The base class of an audit whose record and report are modules of its package."""

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
    """An audit that keeps the result of ``record.measured`` and shows it by ``report``.

    The functions ``sections`` and ``summary`` of ``report`` make what is shown. Both modules belong
    to the package of the audit's class and are imported when they are needed, because every start
    of pytest loads the class.
    """

    keeps: str
    """Name of the record's class in the module ``record``."""

    @property
    def record_type(self) -> type[Any]:
        """The class of the audit's part of run.json."""
        kind: type[Any] = getattr(self._beside("record"), self.keeps)
        return kind

    def record(self, context: AuditContext) -> Any | None:
        """Return what was measured; None where nothing was."""
        return self._beside("record").measured(context)

    def sections(self, record: Any, run: Any) -> Sequence[Section]:
        """Return the sections of a report."""
        shown: Sequence[Section] = self._beside("report").sections(record, run)
        return shown

    def summary(self, record: Any) -> Summary:
        """Return the figures, series and tables that are shown outside the report's sections."""
        told: Summary = self._beside("report").summary(record)
        return told

    def _beside(self, module: str) -> ModuleType:
        return import_module(f"{type(self).__module__}.{module}")
