"""How often the canary takes one model for two, and how soon it tells another.

python tests/simulations/canary.py > tests/simulations/canary.md
"""

from __future__ import annotations

import sys
from typing import ClassVar

import numpy as np

from pytest_t2i.runs.canary import LATEST, count_odd_pictures
from pytest_t2i.statistics import canary as tests
from pytest_t2i.verdicts.canary_prompts import CanaryPicture, CanaryPrompt

CELLS = 192
LOOKS = 30
LEVEL = 0.05


def clipped(cells):
    return np.clip(np.rint(cells), 0, 255).astype(np.uint8).tobytes()


class World:
    """What one server gives for fixed prompts; ``change`` is what another model does to it."""

    def __init__(self, rng, prompts):
        self.rng, self.prompts = rng, prompts
        self.scenes = rng.integers(30, 226, (prompts, CELLS)).astype(float)
        self.signs = rng.choice([-1, 1], prompts)
        self.share = np.clip(rng.normal(0.5, 0.15, prompts), 0.05, 0.95)

    def pictures(self, change):
        """One picture of each prompt."""
        raise NotImplementedError

    def of(self, cells, signs):
        return [CanaryPicture(clipped(c), int(s)) for c, s in zip(cells, signs, strict=True)]


class Equal(World):
    """Bytes are equal; a changed model redraws a share of the pictures."""

    jitter = 0.0
    changes: ClassVar = {"redraws 1 in 5": 0.2, "redraws half": 0.5, "redraws all": 1.0}

    def pictures(self, change):
        rng = self.rng
        cells = self.scenes + rng.normal(0, self.jitter, self.scenes.shape)
        if change:
            other = np.random.default_rng(1)
            redrawn = other.random(self.prompts) < change
            cells[redrawn] = other.integers(30, 226, (int(redrawn.sum()), CELLS))
        return self.of(cells, self.signs)


class Jitter(Equal):
    """Each picture is a little otherwise: a colour by 3 of 255 on average."""

    jitter = 3.0


class Bit(World):
    """The server jitters, and a changed model moves every colour a bit."""

    changes: ClassVar = {"by 1 of 255": 1.0, "by 2 of 255": 2.0, "by 4 of 255": 4.0}

    def pictures(self, change):
        moved = np.random.default_rng(1).normal(0, change or 0.0, self.scenes.shape)
        cells = self.scenes + moved + self.rng.normal(0, 3.0, self.scenes.shape)
        return self.of(cells, self.signs)


class Draws(World):
    """Every picture is drawn anew; a changed model shows more men."""

    changes: ClassVar = {"men by 0.1": 0.1, "men by 0.2": 0.2, "men by 0.4": 0.4}

    def pictures(self, change):
        men = self.rng.random(self.prompts) < np.clip(self.share + (change or 0.0), 0, 1)
        cells = self.rng.integers(30, 226, self.scenes.shape)
        return self.of(cells, np.where(men, 1, -1))


WORLDS = {"bytes equal": Equal, "jitter": Jitter, "changed a bit": Bit, "draws": Draws}


def first_alarm(world, prompts, change, seed, looks=LOOKS):
    """The look at which the model is first said to have changed; None where it never is."""
    server = world(np.random.default_rng(seed), prompts)
    repeats = [server.pictures(None) for _ in range(tests.REPEATS)]
    before = [
        CanaryPrompt(str(k), k, tuple(repeat[k] for repeat in repeats)) for k in range(prompts)
    ]
    then = np.array([[one.sign for one in prompt.pictures] for prompt in before])
    signs = []
    for look in range(1, looks + 1):
        now = server.pictures(change)
        signs = [*signs, [one.sign for one in now]][-LATEST:]
        p_value = tests.smallest_of(
            [
                tests.odd_p_value(*count_odd_pictures(before, now)),
                tests.lean_p_value(then, np.array(signs[-1:]).T),
                tests.lean_p_value(then, np.array(signs).T),
            ]
        )
        if p_value <= tests.level_at(look, LEVEL):
            return look
    return None


def alarms(world, prompts, change, repeats, looks=LOOKS):
    """First alarms of so many baselines."""
    return [first_alarm(world, prompts, change, [7, k], looks) for k in range(repeats)]


def share(found, within):
    return f"{sum(look is not None and look <= within for look in found) / len(found):.1%}"


def main(repeats):
    """Print the page."""
    print("# The canary\n")
    print(f"Made by `python tests/simulations/canary.py`, seeded, {repeats} baselines a cell.\n")
    print("## False alarms\n")
    print(
        f"Share of baselines of a model that never changes at one of {LOOKS} looks (at most 5 %).\n"
    )
    print("| world | 10 prompts | 20 prompts |\n|---|---|---|")
    for name, world in WORLDS.items():
        cells = [share(alarms(world, prompts, None, repeats), LOOKS) for prompts in (10, 20)]
        print(f"| {name} | {' | '.join(cells)} |")
    print("\n## Another model\n")
    print("Share of baselines whose change is told at the first look, and within five.\n")
    print("| world | change | 10 prompts | 20 prompts | 50 prompts |\n|---|---|---|---|---|")
    for name, world in WORLDS.items():
        for told, change in world.changes.items():
            found = [alarms(world, prompts, change, repeats // 4, 5) for prompts in (10, 20, 50)]
            cells = " | ".join(f"{share(one, 1)}, {share(one, 5)}" for one in found)
            print(f"| {name} | {told} | {cells} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
