"""Slow tests whose code has not changed since they last passed are left out.

The slow tests of a file are known by a digest of the file and of what they depend on: every module
of this repository that it imports, directly or not, and the data beside them. Where pytest or
another process is started, or parts are looked up by name, that is the whole source. A row of
``last_results.json`` holds the digest of a file and how many of its tests passed with it. Nobody
but a run that saw them pass writes a row; a test that did not pass is named in it and is run again,
and where a digest is missing or another one, all are run. As a change of the core touches nearly
all of them, which takes an hour, a commit runs the golden records and as many of these files as
took two minutes when they last passed, in an order that follows from its hash; further commits run
others. ``--all-simulations`` runs everything, and so does the name of a file on the command line.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
SOURCE = ROOT / "src" / "pytest_t2i"
TABLE = TESTS / "last_results.json"
DIGEST = "last_results_digest"
"""Name of the property of a report: the digest and the number of slow tests of its file."""
BY_NAME = ("plugin", "library", "runs", "cli/main")
"""Modules that load others by name: what imports one of them depends on the whole source."""
ADAPTERS_BY_NAME = "adapters/registry.py"
"""Loads adapters by name: what imports it depends on all adapters."""
STARTS_MORE = re.compile(r"\b(pytester|subprocess|multiprocessing|run_apart|entry_points)\b")
"""A test that says one of these words depends on the whole source, too."""
READERS = ("docs", "examples", "layout", "trials", "benchmarks")
"""Folders of tests that read pages, examples and scripts."""
READS_PAGES = re.compile(r"""["'](docs|examples|reports/sample)["'/]""")
"""A test that names one of these folders reads them, too."""
SECONDS = 120.0
"""Seconds that the changed slow tests of a commit took when they last passed."""
UNKNOWN = 15.0
"""Seconds that a file counts for whose slow tests never passed as a whole."""
ALWAYS = ("tests/golden/",)
"""Files of which no commit leaves changed tests to another one."""
OWN = ("last_results.py", "minutes.py")
"""Modules of tests on which no result depends."""
ADAPTERS = SOURCE / "adapters"
COMPANIONS = ROOT / "plugins"
SLOW_FOLDERS = [
    *(ADAPTERS / name for name in ("detectors", "encoders", "finders", "languages", "models")),
    COMPANIONS / "pytest-t2i-goya" / "src",
]
"""Whose modules bring torch, transformers and diffusers: their import takes seconds."""
BRINGS_TORCH = re.compile(r"^\s*(import|from) (torch|transformers|diffusers)\b", re.MULTILINE)
SLOW_AS_A_WHOLE = re.compile(r"^pytestmark = (\[\n\s*)?pytest\.mark\.slow\b", re.MULTILINE)
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))",
    re.MULTILINE,
)
NAME = re.compile(r"[\w.]+")
COMMENT = re.compile(r"#[^\n]*")


@cache
def digest(path: Path) -> str:
    """The digest of a test's file and of all that it depends on."""
    own, more = _depends_on(path)
    lines = sorted(_line(file) for file in own - more)
    return hashlib.sha256("".join([*lines, _digest_of(more)]).encode()).hexdigest()[:20]


@cache
def _digest_of(files: frozenset[Path]) -> str:
    return hashlib.sha256("".join(sorted(map(_line, files))).encode()).hexdigest()


@cache
def _line(file: Path) -> str:
    content = hashlib.sha256(file.read_bytes()).hexdigest()
    return f"{file.relative_to(ROOT).as_posix()} {content}\n"


@cache
def _depends_on(path: Path) -> tuple[frozenset[Path], frozenset[Path]]:
    """The file itself, what it imports, and the data beside that; and what many files share."""
    companion = _companion(path)
    own = _files(companion / "src") if companion else frozenset()
    files = {path, ROOT / "conftest.py", *_conftests(path), *own}
    for file in list(files - {ROOT / "conftest.py"}):
        if file.suffix == ".py":
            files |= _closure(file)
    if SOURCE / ADAPTERS_BY_NAME in files:
        files |= _adapters()
    is_reader = companion is None and (
        path.relative_to(ROOT).parts[1] in READERS or any(map(_reads_pages, files))
    )
    is_whole = any(map(_needs_whole_source, files))
    needs_all = is_whole or is_reader or path.parent == TESTS / "golden"
    own = frozenset({*files, *(data for file in files for data in _beside(file))})
    return own, _everything(with_pages=is_reader) if needs_all else frozenset()


@cache
def _needs_whole_source(file: Path) -> bool:
    """Whether a file finds modules by their names, or a test's file starts other processes."""
    if SOURCE in file.parents:
        return file.relative_to(SOURCE).as_posix().startswith(BY_NAME)
    return _is_of_tests(file) and STARTS_MORE.search(file.read_text("utf-8")) is not None


@cache
def _reads_pages(file: Path) -> bool:
    return _is_of_tests(file) and READS_PAGES.search(file.read_text("utf-8")) is not None


def _is_of_tests(file: Path) -> bool:
    return file.suffix == ".py" and "tests" in file.relative_to(ROOT).parts


def _companion(path: Path) -> Path | None:
    inside = path.relative_to(ROOT).parts
    return ROOT / inside[0] / inside[1] if inside[0] == "plugins" else None


def _conftests(path: Path) -> Iterator[Path]:
    for folder in path.parents:
        if folder == ROOT:
            return
        if (folder / "conftest.py").is_file():
            yield folder / "conftest.py"


@cache
def _everything(*, with_pages: bool) -> frozenset[Path]:
    """All that a started process may load; with the pages that some tests read."""
    folders = [ROOT / "src", ROOT / "suites", *(ROOT / "plugins").glob("*/src")]
    single = [ROOT / "pyproject.toml", *(ROOT / "plugins").glob("*/pyproject.toml")]
    single += [file for file in TESTS.glob("*.py") if file.name not in OWN]
    if with_pages:
        folders += [ROOT / "docs", ROOT / "examples", ROOT / "reports"]
        folders += [entry for entry in TESTS.iterdir() if entry.is_dir()]
        single += [
            ROOT / name for name in ("README.md", "CONTRIBUTING.md", "mkdocs.yml", "action.yml")
        ]
    return frozenset({*single, *(file for folder in folders for file in _files(folder))})


@cache
def _adapters() -> frozenset[Path]:
    modules = frozenset((SOURCE / "adapters").rglob("*.py"))
    return modules.union(*(_closure(file) for file in modules))


@cache
def _repository() -> dict[Path, frozenset[Path]]:
    """Folder -> files under it, but those that git ignores: what runs leave is no code."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        files = [path for path in ROOT.rglob("*") if "__pycache__" not in path.parts]
    else:
        files = [_one(ROOT / name) for name in listed.stdout.split("\0") if name]
    under: dict[Path, set[Path]] = {}
    for file in files:
        if file.is_file():
            for folder in file.parents:
                under.setdefault(folder, set()).add(file)
    return {folder: frozenset(found) for folder, found in under.items()}


def _files(folder: Path) -> frozenset[Path]:
    return _repository().get(folder, frozenset())


@cache
def _beside(file: Path) -> frozenset[Path]:
    """Data of a module: of tables beside a simulation those of its name, else all of its folder."""
    if file.suffix != ".py" or file.parent in {TESTS, ROOT}:
        return frozenset()
    data = _data(file.parent)
    if file.parent.name == "simulations":
        return frozenset(entry for entry in data if entry.stem == file.stem)
    return data


@cache
def _data(folder: Path) -> frozenset[Path]:
    """Data in a folder, and in those of its folders that have no code."""
    data = {file for file in _files(folder) if file.suffix != ".py" and file.name != _DIGESTS}
    first = {file: folder / file.relative_to(folder).parts[0] for file in data}
    has_code = {
        inner for inner in set(first.values()) if any(f.suffix == ".py" for f in _files(inner))
    }
    return frozenset(file for file in data if first[file] not in has_code)


_DIGESTS = "kept_digests.toml"
"""Follows every change of an adapter, and changes nothing that a test of another one sees."""


@cache
def _closure(path: Path) -> frozenset[Path]:
    """Files of this repository that a file imports, directly or not."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        for file in _imported(waiting.pop()) - found:
            found.add(file)
            # It looks every name up where it lies: what is used of it stands beside the use.
            if file != SOURCE / "__init__.py":
                waiting.append(file)
    return frozenset(found)


@cache
def _imported(path: Path) -> frozenset[Path]:
    names: set[str] = set()
    for module, parts, modules in IMPORT.findall(path.read_text("utf-8")):
        if module:
            inside = NAME.findall(COMMENT.sub("", parts))
            names |= {module, *(f"{module}.{name}" for name in inside)}
        else:
            names |= set(NAME.findall(COMMENT.sub("", modules)))
            if "pytest_t2i" in names:
                names |= {f"pytest_t2i.{name}" for name in _homes()}
    return frozenset(file for name in names for file in _files_of(name, path.parent))


@cache
def _files_of(name: str, beside: Path) -> tuple[Path, ...]:
    return tuple(_found(name, beside))


def _found(name: str, beside: Path) -> Iterator[Path]:
    """The file of a module and its packages; of a public name, that of its home."""
    parts = name.split(".")
    if parts[0] == "pytest_t2i":
        if len(parts) == 2 and parts[1] in _homes():
            parts = ["pytest_t2i", *_homes()[parts[1]].split(".")]
        folders: Iterable[Path] = (SOURCE.parent,)
    elif parts[0].startswith("pytest_t2i_"):
        folders = (ROOT / "plugins" / parts[0].replace("_", "-") / "src",)
    else:
        folders = (beside, *_import_roots())
    for folder in folders:
        if parts[0] not in _names_in(folder):
            continue
        place = folder.joinpath(*parts)
        for candidate in (place.with_suffix(".py"), place / "__init__.py"):
            if _is_file(candidate):
                yield _one(candidate)
                yield from _packages(candidate.parent)
                return


@cache
def _names_in(folder: Path) -> frozenset[str]:
    return frozenset(entry.stem for entry in folder.iterdir()) if folder.is_dir() else frozenset()


@cache
def _one(path: Path) -> Path:
    """The same object for equal paths: sets compare it without reading it."""
    return path


@cache
def _is_file(path: Path) -> bool:
    return path.is_file()


@cache
def _packages(folder: Path) -> tuple[Path, ...]:
    initial = _one(folder / "__init__.py")
    return (initial, *_packages(folder.parent)) if _is_file(initial) else ()


@cache
def _import_roots() -> tuple[Path, ...]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return tuple(ROOT / name for name in settings["tool"]["pytest"]["ini_options"]["pythonpath"])


@cache
def _homes() -> dict[str, str]:
    """Public name of ``pytest_t2i`` -> its module."""
    import pytest_t2i

    return {**pytest_t2i._NAMES, **pytest_t2i._MODULES}


Row = dict[str, Any]


@cache
def _table() -> dict[str, Row]:
    try:
        table: dict[str, Row] = json.loads(TABLE.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return table


def _name(path: Path) -> str | None:
    return path.relative_to(ROOT).as_posix() if ROOT in path.parents else None


def _row(path: Path) -> Row | None:
    """The row of a file, where its tests passed with the same code."""
    row = _table().get(_name(path) or "")
    return row if row is not None and row["digest"] == digest(path) else None


def is_slow(path: Path) -> bool:
    """Whether all tests of a file are slow: so it says, or it is a module that brings torch."""
    text = path.read_text(encoding="utf-8")
    if path.name.startswith("test_"):
        return SLOW_AS_A_WHOLE.search(text) is not None
    return any(folder in path.parents for folder in SLOW_FOLDERS) or (
        any(folder in path.parents for folder in (ADAPTERS, COMPANIONS))
        and BRINGS_TORCH.search(text) is not None
    )


def _has_slow_tests(path: Path) -> bool:
    if path.suffix != ".py":
        return False
    if path.name.startswith("test_"):
        return "mark.slow" in path.read_text("utf-8")
    return is_slow(path) and ">>>" in path.read_text("utf-8")


@cache
def _commit() -> str:
    """The hash of this commit, as short on every machine."""
    command = ["git", "rev-parse", "--short=7", "HEAD"]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found.stdout.strip()


def files_of_commit(seconds: Mapping[str, float], commit: str) -> frozenset[str]:
    """Names of files whose changed slow tests a commit runs, given how long each took.

    >>> seconds = {f"tests/test_{number}.py": 60.0 for number in range(10)}
    >>> len(files_of_commit(seconds, "1234567")), len(files_of_commit({"long": 900.0}, "1234567"))
    (2, 1)
    >>> files_of_commit(seconds, "1234567") == files_of_commit(seconds, "abcdef0")
    False
    """
    order = sorted(seconds, key=lambda name: hashlib.sha256(f"{commit} {name}".encode()).digest())
    chosen: list[str] = []
    left = SECONDS
    for name in order:
        if seconds[name] <= left or not chosen:
            chosen.append(name)
            left -= seconds[name]
    return frozenset(chosen)


@cache
def _files_of_this_commit() -> frozenset[str]:
    table = _table()
    changed = {
        _name(path) or ""
        for folder in _test_folders()
        for path in _files(folder)
        if _has_slow_tests(path) and _row(path) is None
    }
    seconds = {
        name: table[name]["seconds"] if name in table else UNKNOWN
        for name in changed
        if not name.startswith(ALWAYS)
    }
    return files_of_commit(seconds, _commit())


def _test_folders() -> list[Path]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return [ROOT / name for name in settings["tool"]["pytest"]["ini_options"]["testpaths"]]


class LeftOut:
    """Leaves out what is unchanged or left to another commit, and says at the end how much."""

    def __init__(self, config: pytest.Config, *, everything: bool) -> None:
        self.everything = everything
        """Whether nothing is left out, and only digests are noted."""
        self.tests: Counter[str] = Counter()
        """Unchanged tests by file."""
        self.later: Counter[str] = Counter()
        """Changed tests by file that are left to another commit; 0 where they were not counted."""
        self.named = {
            (config.invocation_params.dir / argument.partition("::")[0]).resolve()
            for argument in config.args
        }
        is_part = any("::" in argument for argument in config.args)
        self.records = not (is_part or config.getoption("lf", default=False))
        """Whether files are collected whole, so that what passed can be recorded."""

    def is_left_out(self, path: Path) -> bool:
        """Whether a file whose tests are all slow need not even be imported."""
        # Beside a file that is named on the command line, pytest looks at all of its folder.
        is_asked = any(place in path.parents for place in self.named)
        row = self._row(path)
        if is_asked and self._is_later(path):
            self.later[_name(path) or ""] += 0
            return True
        if row is None or row["still"] or not is_asked:
            return False
        self.tests[_name(path) or ""] = row["tests"]
        return True

    def _row(self, path: Path) -> Row | None:
        return None if self.everything or path in self.named else _row(path)

    def _is_later(self, path: Path) -> bool:
        """Whether the changed tests of a file are left to another commit."""
        name = _name(path)
        if self.everything or path in self.named or name is None or _row(path) is not None:
            return False
        return not name.startswith(ALWAYS) and name not in _files_of_this_commit()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Take out of the run what passed with the same code; the rest carries its digest."""
        of_file: dict[Path, list[pytest.Item]] = {}
        for item in items:
            if item.get_closest_marker("slow") and _name(item.path):
                of_file.setdefault(item.path, []).append(item)
        left: set[pytest.Item] = set()
        for path, slow in of_file.items():
            if self._is_later(path):
                left |= set(slow)
                self.later[_name(path) or ""] = len(slow)
                continue
            row = self._row(path)
            passed = [item for item in slow if row and _id(item.nodeid) not in row["still"]]
            left |= set(passed)
            if passed:
                self.tests[_name(path) or ""] = len(passed)
            if self.records:
                entry = [digest(path), len(slow), len(passed)]
                for item in slow:
                    item.user_properties.append((DIGEST, entry))
        if left:
            config.hook.pytest_deselected(items=[item for item in items if item in left])
            items[:] = [item for item in items if item not in left]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Workers collect alike: any one of them knows what all left out."""
        output = getattr(node, "workeroutput", {})
        self.tests = Counter(output.get("left_out", {})) | self.tests
        for name, count in output.get("left_to_others", {}).items():
            self.later[name] = max(count, self.later[name])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """A worker hands on what it left out; where that was all, the run passes."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["left_out"] = dict(self.tests)
            session.config.workeroutput["left_to_others"] = dict(self.later)
        elif exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and (self.tests or self.later):
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many tests were left out, and why."""
        if self.tests:
            terminalreporter.write_line(
                f"{self.tests.total()} slow tests of {len(self.tests)} files are left out: what "
                "they depend on is unchanged since they passed (tests/last_results.json; "
                "--all-simulations runs them)"
            )
        if self.later:
            terminalreporter.write_line(
                f"slow tests of {len(self.later)} files are left to other commits: what they "
                f"depend on has changed since they passed, and a commit runs {SECONDS / 60:g} "
                "minutes of such tests (--all-simulations runs them)"
            )


def _id(nodeid: str) -> str:
    return nodeid.partition("::")[2]


class Recorder:
    """Collects which slow tests passed, and writes the table at the end."""

    def __init__(self) -> None:
        self.expected: dict[str, tuple[str, int, int]] = {}
        """Digest, number of slow tests and how many of them were left out, by file."""
        self.passed: dict[str, set[str]] = {}
        self.others: dict[str, set[str]] = {}
        """Failed, or skipped."""
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of a test."""
        entry = dict(report.user_properties).get(DIGEST)
        if entry is None:
            return
        file, name = report.nodeid.partition("::")[0], _id(report.nodeid)
        self.expected[file] = tuple(entry)
        self.seconds[file] += report.duration
        if not report.passed:
            self.others.setdefault(file, set()).add(name)
        elif report.when == "call":
            self.passed.setdefault(file, set()).add(name)

    def pytest_sessionfinish(self) -> None:
        """Write the files all of whose slow tests were run or are unchanged."""
        table = dict(_table())
        for file, (value, slow, left) in self.expected.items():
            others = self.others.get(file, set())
            passed = self.passed.get(file, set()) - others
            if left + len(passed) + len(others) != slow:
                continue
            seconds = round(self.seconds[file] + (table[file]["seconds"] if left else 0.0), 1)
            table[file] = {
                "digest": value,
                "date": f"{datetime.now(UTC):%Y-%m-%d}",
                "tests": left + len(passed),
                "seconds": seconds,
                "still": sorted(others),
            }
        if table == _table():
            return
        rows = (
            f"  {json.dumps(name)}: {json.dumps(row)}"
            for name, row in sorted(table.items())
            if (ROOT / name).is_file() and row["tests"]
        )
        TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
