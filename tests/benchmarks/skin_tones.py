"""Detector skin-tone: drawn people of known tone, planted light, two finders, and real photographs.

No photograph has a label of its tone: groups of ethnicity say no more than an order of their means.
``--certificate FILE`` writes the certificate of the drawn people.
"""

from __future__ import annotations

import argparse
import csv
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from pytest_t2i_reference.drawing.attributes import SKINS, Person, Scene
from pytest_t2i_reference.drawing.palette import SKIN
from pytest_t2i_reference.drawing.scene import draw_scene
from shared_data import data, heading, table
from skimage.color import rgb2lab

from pytest_t2i.adapters.detectors.skin_tone import GROUP_OF, TONES, SkinTone, nearest_tone
from pytest_t2i.adapters.finders.mtcnn import MtcnnFaces
from pytest_t2i.adapters.finders.yunet import YunetFaces
from pytest_t2i.cli.main import main as t2i
from pytest_t2i.labels.vocabulary import keep_vocabulary, named

PLACES = ("office", "park", "gym", "studio")
WARM = (1.08, 1.0, 0.82)
KNOWN = {
    skin: nearest_tone(rgb2lab(np.array([[colour]], np.uint8))[0, 0])
    for skin, colour in SKIN.items()
}
"""Tone of each colour that the drawings use."""


def drawn(count):
    """Pictures of one person each, and the tone of its skin."""
    rng, pictures, tones = random.Random(0), [], []
    for number in range(count):
        skin = SKINS[number % len(SKINS)]
        person = Person(
            rng.choice(["woman", "man"]),
            skin=skin,
            hair_style=rng.choice(["short", "bob", "long"]),
            eye_glasses=rng.random() < 0.2,
            mood=rng.choice(["neutral", "smile"]),
        )
        scene = Scene("one", rng.choice(PLACES), (person,))
        pictures.append(Image.fromarray(draw_scene(scene, number).image))
        tones.append(KNOWN[skin])
    return pictures, tones


def lit(pictures, factor):
    """The pictures with each channel multiplied."""
    planted = [np.clip(np.asarray(picture) * np.array(factor), 0, 255) for picture in pictures]
    return [Image.fromarray(pixels.astype(np.uint8)) for pixels in planted]


def tones_of(detector, pictures):
    """The tone of each picture; None where there is no label."""
    return [int(said.scores["monk"]) if said.label else None for said in detector.detect(pictures)]


def agreement(first, second):
    """Pictures that both label, equal tones and tones at most one apart, as shares."""
    off = [abs(a - b) for a, b in zip(first, second, strict=True) if a and b]
    if not off:
        return "0", "", ""
    return str(len(off)), f"{np.mean(np.equal(off, 0)):.3f}", f"{np.mean(np.less(off, 2)):.3f}"


def certify(file, weights, count):
    """Write the certificate of drawn people, by the command that a user runs."""
    with TemporaryDirectory() as folder:
        rows = ["file,label,annotator,reason,prompt,model"]
        for number, (picture, tone) in enumerate(zip(*drawn(count), strict=True)):
            picture.save(Path(folder, f"{number}.png"))
            rows.append(f"{number}.png,{GROUP_OF[tone - 1]},drawing,,,")
        Path(folder, "labels.csv").write_text("\n".join(rows) + "\n")
        keep_vocabulary(Path(folder), named("light,medium,dark"))
        detector = f"skin-tone:yunet:{weights}"
        t2i(["detector", "check", detector, "--labels", folder, "--certificate", file])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drawn", type=int, default=240)
    parser.add_argument("--faces", type=int, default=500)
    parser.add_argument("--certificate")
    options = parser.parse_args(arguments)
    weights = data("weights", "yunet_n_640_640.onnx")
    yunet, mtcnn = (SkinTone(f, TONES) for f in (YunetFaces(weights), MtcnnFaces()))

    print(heading("scikit-image", "opencv-python", "facenet-pytorch"))
    pictures, known = drawn(options.drawn)
    lights = {
        "as drawn": pictures,
        "warmer": lit(pictures, WARM),
        "darker by 0.7": lit(pictures, [0.7] * 3),
        "grey": [picture.convert("L") for picture in pictures],
    }
    rows = []
    for name, planted in lights.items():
        tones = tones_of(yunet, planted)
        pairs = [(a, b) for a, b in zip(tones, known, strict=True) if a]
        group = [GROUP_OF[a - 1] == GROUP_OF[b - 1] for a, b in pairs]
        right = (f"{np.mean(group):.3f}" if group else "", *agreement(tones, known)[1:])
        rows.append((name, str(len(pairs)), *right, *agreement(tones, tones_of(mtcnn, planted))))
    head = ("light", "labelled", "group right", "tone right", "within one")
    print(table((*head, "by both finders", "equal", "within one"), rows))

    with data("faces", "labels.csv").open(newline="") as file:
        people = list(csv.DictReader(file))[: options.faces]
    faces = [Image.open(data("faces", person["file"])).convert("RGB") for person in people]
    said = yunet.detect(faces)
    rows = []
    for race in ("white", "other", "asian", "indian", "black"):
        of_race = [d for d, person in zip(said, people, strict=True) if person["race"] == race]
        labelled = [d for d in of_race if d.label]
        if labelled:
            groups = [GROUP_OF[int(d.scores["monk"]) - 1] for d in labelled]
            ita = np.mean([d.scores["ita"] for d in labelled])
            shares = [str(groups.count(name)) for name in ("light", "medium", "dark")]
            rows.append((race, str(len(of_race)), str(len(labelled)), f"{ita:.1f}", *shares))
    print(table(("group", "faces", "labelled", "mean ITA", "light", "medium", "dark"), rows))
    reasons = [d.detail.partition(":")[0] for d in said if not d.label]
    print({reason: reasons.count(reason) for reason in sorted(set(reasons))})
    both = agreement([int(d.scores["monk"]) if d.label else None for d in said],
                     tones_of(mtcnn, faces))  # fmt: skip
    print(table(("pictures", "by both finders", "equal", "within one"), [("photographs", *both)]))
    if options.certificate:
        certify(options.certificate, weights, options.drawn)


if __name__ == "__main__":
    main()
