"""A Ray that was started for this machine alone cannot be reached from another one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import suppress

import pytest

pytest.importorskip("ray")
pytestmark = pytest.mark.slow
START = """
import os, sys
from pytest_t2i_ray.asked import Asked
from pytest_t2i_ray.cluster import NO_CLUSTER, connect
if sys.argv[1] == "imported":
    import ray
before = os.environ.get(NO_CLUSTER)
assert connect(Asked(None, 1))
import ray
assert os.environ.get(NO_CLUSTER) == before
@ray.remote(num_cpus=0)
class Actor:
    def ready(self): return os.getpid()
actor = Actor.remote()
print("ready", ray.get(actor.ready.remote()), ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.readline()
ray.shutdown()
"""


def own_address():
    """An address of this machine that other machines reach; None without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return probe.getsockname()[0]
    return None


def listening(pids):
    """(address, port) of every socket on which these processes and their children listen."""
    psutil = pytest.importorskip("psutil")
    processes = [psutil.Process(pid) for pid in pids]
    everyone = {child for parent in processes for child in parent.children(recursive=True)}
    found = set()
    for process in everyone | set(processes):
        with suppress(psutil.Error):
            found |= {
                (each.laddr.ip, each.laddr.port)
                for each in process.net_connections(kind="inet")
                if each.status == psutil.CONN_LISTEN
            }
    return found


@pytest.mark.parametrize("ray", ["imported", "absent"])
@pytest.mark.parametrize("named", [None, "1"])
def test_nobody_reaches_it_from_another_address(ray, named):
    address = own_address()
    if address is None or address.startswith("127."):
        pytest.skip("this machine has no address but its loopback")
    environment = dict(os.environ)
    environment.pop("RAY_ADDRESS", None)
    if named is not None:
        environment["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = named
    with subprocess.Popen(
        [sys.executable, "-c", START, ray],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    ) as started:  # fmt: skip
        try:
            ready = next(line for line in started.stdout if line.startswith("ready "))
            gcs = ready.split()[2]
            sockets = listening([started.pid])
            assert len(sockets) >= 4, "Ray's server, raylet, driver and workers"
            assert {ip.removeprefix("::ffff:") for ip, _ in sockets} == {"127.0.0.1"}
            assert gcs.startswith("127.0.0.1:")
            with socket.create_connection(("127.0.0.1", int(gcs.rpartition(":")[2])), 5):
                pass
            for _, port in sockets:
                with pytest.raises(OSError):  # noqa: PT011 - refused, or out of time
                    socket.create_connection((address, port), 2).close()
        finally:
            started.stdin.write("\n")
            started.stdin.close()
            started.wait(60)
    assert started.returncode == 0
