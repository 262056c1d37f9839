"""Who is making an image ends with the process that makes it, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_t2i.generation.store import Store, claims

CLAIMER = """
import sys
from pathlib import Path
from pytest_t2i.generation.store import Store
store = Store(Path(sys.argv[1]))
print(*store.claim(["a", "b"]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def claimer(tmp_path):
    """Another process that has claimed a and b, and waits to be ended."""
    command = [sys.executable, "-c", CLAIMER, str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline().split() == ["a", "b"]
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.close()


def is_zombie(process) -> bool:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_what_another_process_makes_is_left_to_it(store, claimer):
    assert store.claim(["a", "b", "c"]) == ["c"]
    assert store.owners(["a"]) == [f"process {claimer.pid} on {claims.socket.gethostname()}"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_a_zombie_holds_nothing(store, claimer):
    claimer.kill()
    for _ in range(100):  # killed, and not waited for: its process id stays taken
        if is_zombie(claimer):
            break
        time.sleep(0.05)
    os.kill(claimer.pid, 0)  # what was asked before says that it is alive
    assert store.claim(["a", "b"]) == ["a", "b"]


def test_a_claim_ends_with_its_store(tmp_path, store):
    other = Store(tmp_path)
    assert other.claim(["a"]) == ["a"]
    assert store.claim(["a"]) == []
    other.close()
    assert store.claim(["a"]) == ["a"]


def test_claims_of_another_host_hold_while_they_are_renewed(tmp_path, store):
    connection = store._connection
    far = time.time() + claims.LEASE
    for key, until in (("held", far), ("void", time.time() - 1)):
        connection.execute("INSERT INTO claims VALUES (?, ?, ?)", (key, "elsewhere:7:abc", until))
    assert store.claim(["held", "void"]) == ["void"]
    connection.execute("UPDATE claims SET until = 0 WHERE key = 'held'")
    claims.renew(connection, "elsewhere:7:abc")
    assert store.claim(["held"]) == []


def test_files_of_dead_owners_are_cleared(tmp_path, store, claimer):
    locks = tmp_path / "locks"
    store.claim(["x"])
    assert len(list(locks.glob("*.owner"))) == 2
    claimer.kill()
    claimer.wait()
    store.claim(["a"])
    assert len(list(locks.glob("*.owner"))) == 1
