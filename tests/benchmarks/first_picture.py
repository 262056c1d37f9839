"""Seconds to the first picture: a run of the product beside a bare script, in new processes.

The script imports the pipeline's class, loads it and makes one picture. Both start with files in
the machine's cache, after a pair that is not counted, and turn by turn. The run has no detector to
load; what pytest and the store need is in its time.

    python tests/benchmarks/first_picture.py --pairs 5
    python tests/benchmarks/first_picture.py --model FOLDER --steps 10 --pixels 1024
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest_t2i_reference
from whole_run_on_gpu import Run

BARE = """
import sys, time
import torch
from diffusers import {name}
folder, steps, pixels = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
pipeline = {name}.from_pretrained(folder, torch_dtype=torch.float32)
pipeline("a photo of a nurse", num_inference_steps=steps, height=pixels, width=pixels,
         guidance_scale=1.0)
print("at", time.time())
"""


def bare(folder: Path, options: argparse.Namespace) -> float:
    """Seconds from the start of a script's process to its picture."""
    index = json.loads((folder / "model_index.json").read_text())
    script = BARE.format(name=index["_class_name"])
    started = time.time()
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), str(options.steps), str(options.pixels)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1]) - started


def product(folder: Path, place: Path, options: argparse.Namespace) -> float:
    """Seconds from the start of pytest to the first picture of a run with an empty store."""
    usual = f"""
        --t2i-model timed:{folder} --t2i-detector instant --t2i-images 1 --t2i-batch 1
        --t2i-guidance 1 --t2i-steps {options.steps} --t2i-size {options.pixels}
    """
    run = Run(place, usual.split())
    return min(end for _, end, _ in run.batches) - run.started


def main() -> None:
    """Print both times of each pair, and the median of their ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, help="folder of a pipeline; without it, reference")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--pixels", type=int, default=128)
    options = parser.parse_args()
    folder = (
        options.model or Path(pytest_t2i_reference.__file__).parent / "weights" / "reference"
    ).resolve()
    ratios = []
    with tempfile.TemporaryDirectory() as work:
        for pair in range(options.pairs + 1):
            alone = bare(folder, options)
            run = product(folder, Path(work) / str(pair), options)
            if pair or not options.pairs:
                ratios.append(run / alone)
                print(f"bare {alone:.1f} s, run {run:.1f} s, ratio {run / alone:.2f}", flush=True)
    print(f"median of the ratios of {len(ratios)} pairs: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
