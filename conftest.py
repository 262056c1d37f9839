"""Shared by the tests of this repository and by the suites."""

pytest_plugins = ["pytester"]
