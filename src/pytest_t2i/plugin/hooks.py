"""Pytest hooks; each delegates to another module.

Pytest loads this module at every start, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_t2i.plugin import exit_status, fixtures, options
from pytest_t2i.plugin.fixtures import RUN, audits_of_project, fixtures_of

MARKER = (
    "t2i(*what, images=None, spaces=None, expected=None): a fairness test over axes, prompts, "
    "triplets, captions or stereotypes"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the hooks for conftest.py files."""
    from pytest_t2i.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, Any, Any]:
    """Keep pytest from taking the value of one of our options for a path of tests.

    Once each conftest.py has added its options, name the nearest to a mistyped one of ours.
    """
    options.add_ini_keys(parser, args)
    if any(arg.startswith("--t2i") for arg in args):
        options.keep_rootdir(early_config, parser, args)
    options.search_project(early_config, args)
    result = yield
    options.check_spelling(parser, args)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Run several models one after the other, and compare them."""
    if "," not in (config.getoption("t2i_model") or options.ini_text(config, "t2i_model")):
        return None
    from pytest_t2i.plugin.several_models import models_of, run_each

    settings = options.resolve(config)
    models = models_of(settings.model)
    quiet = config.option.help or config.option.version or config.option.collectonly
    return None if len(models) < 2 or quiet else run_each(config, settings, models)  # noqa: PLR2004


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and the fixtures; with a model, the plugin that does the work."""
    config.addinivalue_line("markers", MARKER)
    if config.option.help:
        return
    options.hide_no_file(config)
    config.pluginmanager.register(fixtures, "t2i-fixtures")
    if not hasattr(config, "workerinput"):  # the process that receives the reports
        config.pluginmanager.register(exit_status.WithoutModel(), "t2i-without-model")
    if not options.are_given(config) and not config.option.showfixtures:
        return  # nothing is built for a session that may have no test of ours
    audits = audits_of_project(config)
    config.pluginmanager.register(fixtures_of(audits), "t2i-audit-fixtures")
    settings = options.resolve(config)
    idle = settings.model is None and settings.labels is None
    if idle or config.option.collectonly:
        return
    from pytest_t2i.plugin.run import Run

    config.pluginmanager.register(Run(config, settings, audits), RUN)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test case per prompt, triplet or stereotype of the marker."""
    if metafunc.definition.get_closest_marker("t2i") is not None:
        from pytest_t2i.plugin.collection import parametrize

        parametrize(metafunc)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip t2i tests with one clear line if no model is given."""
    if config.pluginmanager.has_plugin(RUN) or config.option.collectonly:
        return
    fixtures.skip_without_model(config, items)


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """With --collect-only, say how many images the tests need."""
    marked = [item for item in items if item.get_closest_marker("t2i")]
    if not config.option.collectonly or not marked:
        return []
    from pytest_t2i.plugin.marker import selection_of
    from pytest_t2i.reporting.formatting import several
    from pytest_t2i.runs.session.selection import images_wanted

    images = options.resolve(config).images
    selections = [selection_of(item) for item in marked if isinstance(item, pytest.Function)]
    counts = images_wanted((selection, selection.images(images)) for selection in selections)
    total = several(sum(counts.values()), "image")
    return [f"t2i: these tests need {total} of {several(len(counts), 'prompt')}"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Provide the test that runs with its limits, and record its verdicts."""
    run = item.config.pluginmanager.get_plugin(RUN)
    if run is None:
        return (yield)
    with run.judging(item):
        return (yield)
