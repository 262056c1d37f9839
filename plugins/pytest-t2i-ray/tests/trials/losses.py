"""Actors that are killed and nodes that are taken away at random moments: nothing is lost.

    python plugins/pytest-t2i-ray/tests/trials/losses.py --kills 60 --removals 10

Ray runs on this machine (``ray.cluster_utils.Cluster``): a head without actors, two more raylets
with room for three, and one for what a lost one held. Each round is a run of pytest in a store of
its own with three actors; SIGKILL hits a random one, and now and then a raylet with all that runs
on it. Then every image must be in the store, once; the verdicts must be those of an undisturbed
run; and no more images may have been made again than the lost actors had.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ray_project

from pytest_t2i_ray.pool import AHEAD

ACTORS, BATCH, IMAGES = 3, 4, 150
PROMPTS = 4
LONGEST = 240.0
"""Seconds after which a run hangs: the machine is shared."""


@dataclass
class Count:
    """What was done, and what came of it."""

    kills: int = 0
    removals: int = 0
    rounds: int = 0
    images: int = 0
    again: int = 0
    """Images that were made more than once."""
    most_again: int = 0
    """As many as the lost actors can have had."""
    problems: list[str] = field(default_factory=list)

    def check(self, holds: bool, problem: str) -> None:
        """Keep what does not hold."""
        if not holds:
            self.problems.append(problem)

    @property
    def row(self) -> str:
        """Of the table."""
        told = "; ".join(self.problems) or "0 hangs, 0 missing, 0 twice, verdicts as undisturbed"
        return (
            f"| {self.kills} | {self.removals} | {self.rounds} | {self.images} | "
            f"{self.again} of at most {self.most_again} | {told} |"
        )


class Machines:
    """A cluster of raylets on this machine."""

    def __init__(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False}
        self.cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        self.nodes = [self.add() for _ in range(2)]

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def add(self) -> Any:
        """One more raylet, with room for two actors."""
        return self.cluster.add_node(num_cpus=2)

    def remove(self, random: Random) -> None:
        """Take one away, and then bring another."""
        node = self.nodes.pop(random.randrange(len(self.nodes)))
        self.cluster.remove_node(node, allow_graceful=False)
        self.nodes.append(self.add())

    def close(self) -> None:
        self.cluster.shutdown()


def actors() -> list[int]:
    """Processes that are actors of ours: Ray writes into their command line what they are."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name().startswith("ray::Maker") or any(
                "ray::Maker" in part for part in process.cmdline()
            ):
                found.append(process.pid)
    return found


def disturbed(
    machines: Machines, folder: Path, random: Random, count: Count, kills: int, removals: int
) -> None:
    """One run, and so many kills and removals while it makes images."""
    acts = ["kill"] * kills + ["remove"] * removals
    random.shuffle(acts)
    told = (folder / "told.txt").open("w")
    child = subprocess.Popen(
        ray_project.command(*asked(machines)), cwd=folder, env=ray_project.environment(folder),
        stdout=told, stderr=subprocess.STDOUT,
    )  # fmt: skip
    ends = time.monotonic() + LONGEST
    while acts and child.poll() is None and time.monotonic() < ends:
        time.sleep(random.uniform(0.2, 1.2))
        if acts[-1] == "remove" and actors():
            machines.remove(random)
            count.removals += 1
            count.most_again += 2 * AHEAD * BATCH
            acts.pop()
        elif acts[-1] == "kill" and (alive := actors()):
            with suppress(ProcessLookupError):
                os.kill(random.choice(alive), signal.SIGKILL)
                count.kills += 1
                count.most_again += AHEAD * BATCH
            acts.pop()
    try:
        child.wait(max(1.0, ends - time.monotonic()))
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        count.problems.append(f"a run hung: {_tail(folder)}")
    told.close()
    count.check(not acts, f"a run ended before {len(acts)} losses: {_tail(folder)}")


def asked(machines: Machines) -> tuple[str, ...]:
    """Options of a run."""
    return (
        "--t2i-executor", f"ray:{ACTORS}", "--t2i-ray-cpus", "1", "--t2i-batch", str(BATCH),
        "--t2i-ray-address", machines.address, "--t2i-images", str(IMAGES),
    )  # fmt: skip


def check(folder: Path, expected: tuple[Any, Any], count: Count, seed: str) -> None:
    """Hold a finished run to what it must show."""
    expected_verdicts, expected_pictures = expected
    kept = ray_project.pictures(folder / ".t2i")
    counted = ray_project.made(folder)
    wanted = PROMPTS * IMAGES
    count.rounds += 1
    count.images += wanted
    count.again += sum(counted.values()) - len(counted)
    count.check(kept == expected_pictures, f"{seed}: {wanted - len(kept)} missing: {_tail(folder)}")
    line = f"images: {wanted} made"
    said = (folder / "told.txt").read_text()
    count.check(len(counted) == wanted, f"{seed}: {len(counted)} are told as made")
    count.check(line in said, f"{seed}: not {line!r}: {_tail(folder)}")
    with suppress(OSError, KeyError):
        if ray_project.verdicts(folder) == expected_verdicts:
            return
    count.problems.append(f"{seed}: other verdicts: {_tail(folder)}")


def _tail(folder: Path) -> str:
    return " / ".join((folder / "told.txt").read_text().splitlines()[-4:])


def trial(kills: int, removals: int, rounds: int, seed: int, work: Path) -> Count:
    """All rounds; what they came to."""
    count, random = Count(), Random(seed)
    still = ray_project.write(work / "undisturbed")
    ray_project.run(still, "--t2i-images", str(IMAGES), SLOW="0")
    expected = ray_project.verdicts(still), ray_project.pictures(still / ".t2i")
    machines = Machines()
    try:
        for number in range(rounds):
            folder = ray_project.write(work / f"round{number}")
            mine = [total // rounds + (number < total % rounds) for total in (kills, removals)]
            disturbed(machines, folder, random, count, *mine)
            check(folder, expected, count, f"seed {seed} round {number}")
    finally:
        machines.close()
    count.check(count.again <= count.most_again, "more was made again than lost actors had")
    return count


def main() -> None:
    """Print a row of the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--removals", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        started = time.monotonic()
        count = trial(given.kills, given.removals, given.rounds, given.seed, Path(work))
    print(count.row, f"{time.monotonic() - started:.0f} s")
    sys.exit(bool(count.problems))


if __name__ == "__main__":
    main()
