"""Shared by the tests of this repository and by the suites."""

from importlib.util import find_spec

pytest_plugins = ["pytester"]

# Its examples cannot be run where it cannot be imported; no extra brings it (see the module).
collect_ignore = (
    [] if find_spec("facenet_pytorch") else ["src/pytest_t2i/adapters/finders/mtcnn.py"]
)
