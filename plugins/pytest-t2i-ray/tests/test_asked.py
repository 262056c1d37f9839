"""Options of the executor, read."""

from __future__ import annotations

import pytest
from pytest_t2i import T2IError

from pytest_t2i_ray import cluster
from pytest_t2i_ray.asked import Asked, actors, address, cpus


@pytest.mark.parametrize("given", ["head:6379", "10.0.0.7:6379", "[::1]:6379", "auto", "local"])
def test_addresses_that_are_taken(given):
    assert address("--t2i-ray-address", given) == given


@pytest.mark.parametrize(
    ("read", "given", "told"),
    [
        (lambda v: address("--t2i-ray-address", v), "head", "expected HOST:PORT, auto or local"),
        (lambda v: address("--t2i-ray-address", v), "ray://head:10001", "by a job for instance"),
        (lambda v: cpus("--t2i-ray-cpus", v), "0", "a whole number from 1 to 4096, got '0'"),
        (lambda v: cpus("t2i_ray_cpus", v), "two", "t2i_ray_cpus: expected a whole number"),
        (lambda v: cpus("--t2i-ray-cpus", v), "²", "got '²'"),
        (actors, "0", "--t2i-executor: expected ray or ray:N with N from 1 to 4096, got '0'"),
        (actors, "many", "got 'many'"),
        (actors, "9" * 200, "got '999"),
    ],
)
def test_what_is_mistyped_is_told(read, given, told):
    with pytest.raises(T2IError) as caught:
        read(given)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 300


def test_each_actor_has_a_gpu_unless_processors_are_asked_for():
    assert cluster.share_of(Asked(), "auto") == (1, 0)
    assert cluster.share_of(Asked(), "cuda") == (1, 0)
    assert cluster.share_of(Asked(), "cpu") == (0, 1)
    assert cluster.share_of(Asked(cpus=3), "auto") == (0, 3)
    with pytest.raises(T2IError, match="have no 'cuda'"):
        cluster.share_of(Asked(cpus=3), "cuda")


def test_as_many_actors_as_there_is_room_for():
    on_gpus, on_cpus = cluster.Share(1, 0), cluster.Share(0, 2)
    assert cluster.count_of(on_gpus, None, {"GPU": 8.0, "CPU": 2.0}, "auto") == 8
    assert cluster.count_of(on_cpus, None, {"CPU": 5.0}, "local") == 2
    # A cluster may grow, a machine does not.
    assert cluster.count_of(on_cpus, 9, {"CPU": 5.0}, "auto") == 9
    with pytest.raises(T2IError, match=r"9 actors of 2 processors each do not fit.*room for 2"):
        cluster.count_of(on_cpus, 9, {"CPU": 5.0}, "local")
    with pytest.raises(T2IError, match=r"the Ray cluster has no GPU.*--t2i-ray-cpus N"):
        cluster.count_of(on_gpus, 2, {"CPU": 5.0}, "auto")
    with pytest.raises(T2IError, match="1 actors of 2 processors each do not fit"):
        cluster.count_of(on_cpus, None, {"CPU": 1.0}, "auto")


def test_a_host_that_answers_and_is_no_ray_is_told_in_bounded_time(monkeypatch):
    """The process that tries it is ended."""
    import socket
    import time

    monkeypatch.setattr(cluster, "JOIN", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        began = time.monotonic()
        with pytest.raises(T2IError, match=r"no Ray answered within 0\.5 seconds"):
            cluster._check_answers(f"127.0.0.1:{port}")
    assert time.monotonic() - began < 20
    with pytest.raises(T2IError, match="nobody answers there"):
        cluster._check_answers(f"127.0.0.1:{port}")


def test_without_ray_the_line_that_installs_it_is_told(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(T2IError, match="Run: pip install pytest-t2i-ray"):
        cluster.ray_module()
