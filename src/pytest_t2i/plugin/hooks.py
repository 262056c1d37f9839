"""Pytest hooks: they translate and delegate; the logic is in pytest_t2i.runs.session and below it.

Nothing heavy is imported here: pytest loads this module at every start.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_t2i.plugin import options

if TYPE_CHECKING:
    from pytest_t2i.plugin.run import Active

MARKER = (
    "t2i(*what, images=None, spaces=None): a fairness test over axes, prompts, triplets or "
    "stereotypes"
)
NO_MODEL = "t2i: no model given; run with --t2i-model NAME (reference, sdxl, a folder, ...)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options and ini keys."""
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Hooks for conftest.py files."""
    from pytest_t2i.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; with a model, the plugin that does the work."""
    config.addinivalue_line("markers", MARKER)
    settings = options.resolve(config)
    idle = settings.model is None and settings.labels is None
    if idle or config.option.help or config.option.collectonly:
        return
    from pytest_t2i.plugin.run import Active

    config.pluginmanager.register(Active(config, settings), "t2i-active")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test case per prompt, triplet or stereotype of the marker."""
    marker = metafunc.definition.get_closest_marker("t2i")
    if marker is None:
        return
    from pytest_t2i.plugin.marker import read_marker
    from pytest_t2i.runs.selection import ONE_BY_ONE, TOGETHER

    try:
        ask = read_marker(metafunc.definition)
    except pytest.UsageError as error:
        # Told as one line: any other exception at collection shows pytest's own frames.
        raise pytest.Collector.CollectError(str(error)) from None
    if "trial" in metafunc.fixturenames:
        names = detectors(metafunc.config)
        metafunc.parametrize("trial", names, indirect=True, ids=names)
    for fixture in [*ONE_BY_ONE, *TOGETHER]:
        if fixture not in metafunc.fixturenames:
            continue
        members = ask.members(fixture)
        if not members:
            raise pytest.Collector.CollectError(
                f"{metafunc.definition.nodeid}: fixture {fixture!r} has nothing to be about: give "
                "the mark t2i(...) an axis, prompt, triplet or stereotype"
            )
        if fixture in ONE_BY_ONE:
            metafunc.parametrize(fixture, members, indirect=True, ids=[one.id for one in members])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a model, t2i tests are skipped with one clear line."""
    if config.pluginmanager.has_plugin("t2i-active") or config.option.collectonly:
        return
    for item in items:
        if item.get_closest_marker("t2i"):
            item.add_marker(pytest.mark.skip(reason=NO_MODEL))


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """With --collect-only: how many images the tests would need."""
    asking = [one for one in items if one.get_closest_marker("t2i")]
    if not config.option.collectonly or not asking:
        return []
    from pytest_t2i.plugin.marker import ask_of
    from pytest_t2i.runs.selection import images_wanted

    asks = [ask_of(one) for one in asking if isinstance(one, pytest.Function)]
    wanted = images_wanted(asks, options.resolve(config).images)
    return [f"t2i: these tests need {sum(wanted.values())} images of {len(wanted)} prompts"]


def detectors(config: pytest.Config) -> list[str]:
    """Names of the detectors of the run; without one, a placeholder that is skipped."""
    found: Active | None = config.pluginmanager.get_plugin("t2i-active")
    return list(found.session.detectors) if found else ["detector"]


def active(request: pytest.FixtureRequest) -> Active:
    """The active plugin; fixtures need it."""
    found = request.config.pluginmanager.get_plugin("t2i-active")
    if found is None:
        pytest.skip(NO_MODEL)
    return found  # type: ignore[no-any-return]


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Any:
    """All detections of one prompt; the test runs once per prompt of its t2i marker."""
    return active(request).sample(request.node)


@pytest.fixture
def samples(request: pytest.FixtureRequest) -> Any:
    """The samples of every prompt of the t2i marker, for model-level metrics."""
    return active(request).samples(request.node)


@pytest.fixture
def triplet(request: pytest.FixtureRequest) -> Any:
    """The images of one triplet; the test runs once per triplet of its t2i marker."""
    return active(request).triplet(request.node)


@pytest.fixture
def triplets(request: pytest.FixtureRequest) -> Any:
    """The images of every triplet of the t2i marker."""
    return active(request).triplets(request.node)


@pytest.fixture
def stereotype(request: pytest.FixtureRequest) -> Any:
    """One stereotype as measured; the test runs once per stereotype of its t2i marker."""
    return active(request).association(request.node)


@pytest.fixture
def stereotypes(request: pytest.FixtureRequest) -> Any:
    """Every stereotype of the t2i marker, as measured."""
    return active(request).associations(request.node)


@pytest.fixture
def trial(request: pytest.FixtureRequest) -> Any:
    """One detector on the labelled images; the test runs once per detector."""
    return active(request).trials(request.node)[request.param]


@pytest.fixture
def trials(request: pytest.FixtureRequest) -> Any:
    """Every detector on the labelled images."""
    return active(request).trials(request.node)


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Any:
    """The model under test (pytest_t2i.protocols.TextToImage)."""
    return active(request).model()


@pytest.fixture
def detector(request: pytest.FixtureRequest) -> Any:
    """The detector whose word decides (pytest_t2i.protocols.Detector)."""
    return active(request).detector()


@pytest.fixture
def reference(request: pytest.FixtureRequest) -> Any:
    """The distribution of --t2i-reference; the test is skipped without one."""
    return active(request).reference()


@pytest.fixture
def baseline(request: pytest.FixtureRequest) -> Any:
    """The recorded run of --t2i-baseline; the test is skipped without one."""
    return active(request).baseline(request.node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Limits are looked up, and verdicts recorded, for the test that runs."""
    plugin = item.config.pluginmanager.get_plugin("t2i-active")
    if plugin is None:
        return (yield)
    with plugin.judging(item):
        return (yield)
