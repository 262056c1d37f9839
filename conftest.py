"""Shared by the tests of this repository and by the suites."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tests"))
import minutes
import slow_tests

pytest_plugins = ["pytester"]

# Read by torch at its first product: some virtual machines announce AMX and stop at it.
os.environ.setdefault("DNNL_MAX_CPU_ISA", "AVX512_CORE_FP16")

# Examples need a module that can be imported; no extra brings the first two (see there).
OPTIONAL = {
    "facenet_pytorch": "finders/mtcnn.py",
    "openai": "languages/openai.py",
}
collect_ignore = [
    f"src/pytest_t2i/adapters/{module}"
    for library, module in OPTIONAL.items()
    if find_spec(library) is None
]
HERE = Path(__file__).parent
HEARTBEAT = "t2i signs of life"
"""Name of the thread of generation/heartbeat.py."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the tests of this repository."""
    parser.addoption(
        "--minutes",
        action="store_true",
        help="print the minutes of processor time of the tests of each folder, beside their budget",
    )
    parser.addoption(
        "--all-simulations",
        action="store_true",
        help="run all slow tests, and write how long those of each file took",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tests use one thread of OpenMP each, but those of a suite, which may use all cores.

    Workers that each use every core wait for one another. And a forked process waits for ever where
    OpenMP has run on several threads before the fork, as several tests fork.
    """
    everything = config.getoption("all_simulations")
    if not everything and config.option.markexpr != "not slow":
        config.pluginmanager.register(slow_tests.LeftOut(config), "left-out")
    if config.getoption("minutes"):
        config.pluginmanager.register(minutes.Clock(), "clock")
    if "PYTEST_XDIST_WORKER" not in os.environ:
        if everything:
            config.pluginmanager.register(slow_tests.Recorder(), "slow-seconds")
        if config.getoption("minutes"):
            config.pluginmanager.register(minutes.Minutes(), "minutes")
    if not config.getoption("t2i_model", None):
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is loaded


def pytest_collection_finish() -> None:
    """What is loaded by now stays: no collection of garbage goes through it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """No test leaves a heartbeat behind: it would take a core from every test after it."""
    yield
    if any(thread.name == HEARTBEAT for thread in threading.enumerate()):
        pytest.fail("A heartbeat goes on: stop the Ticker, or let the Machine go.")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Helpers of tests hold no examples; what is slow is not even imported where it is not run."""
    if collection_path.suffix != ".py":
        return None
    is_test = collection_path.name.startswith("test_")
    if "tests" in collection_path.relative_to(HERE).parts and not is_test:
        return True
    if not is_test and ">>>" not in collection_path.read_text(encoding="utf-8"):
        return True
    if config.option.markexpr == "not slow":
        return slow_tests.is_slow(collection_path) or None
    left_out = config.pluginmanager.get_plugin("left-out")
    if left_out is not None and slow_tests.is_slow(collection_path):
        return left_out.is_left_out(collection_path) or None
    return None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Examples of modules that bring torch are slow, too."""
    if isinstance(item, pytest.DoctestItem) and slow_tests.is_slow(item.path):
        item.add_marker("slow")
