"""``t2i store verify`` and ``t2i store repair``."""

from __future__ import annotations

import shutil
from dataclasses import replace

from writing import new

from pytest_t2i.cli.main import main
from pytest_t2i.data import Generated
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.pruning import note_needed


def test_a_store_is_verified_and_repaired(tmp_path, capsys):
    folder = tmp_path / "store"
    store = Store(folder)
    store.add_images([new("aa1"), new("ab2")])
    store.close()
    assert main(["store", "verify", str(folder)]) == 0
    assert "2 images and 0 arrays whole" in capsys.readouterr().out
    (folder / "images/aa/aa1.png").write_bytes(b"rot")
    assert main(["store", "verify", str(folder)]) == 1
    said = capsys.readouterr().out
    assert f"damaged: {folder}/images/aa/aa1.png" in said
    assert "next: run the suite again" in said
    (folder / "index.sqlite").unlink()
    assert main(["store", "repair", str(folder)]) == 1
    told = "a new index has 1 image (1 of them adopted), 0 refused, 0 detections and 0 arrays"
    assert told in capsys.readouterr().out


def test_no_store_is_one_line(tmp_path, capsys):
    assert main(["store", "verify", str(tmp_path / "nowhere")]) == 2
    assert "expected the folder of a store, found none" in capsys.readouterr().err


def fill(folder, *keys):
    store = Store(folder)
    store.add_images([new(key) for key in keys])
    store.close()


def test_a_store_adopts_the_pictures_of_another(tmp_path, capsys):
    one, other = tmp_path / "one", tmp_path / "other"
    fill(one, "aa1", "ab2")
    fill(other, "ab2", "ac3")
    assert main(["store", "show", str(one)]) == 0
    assert "images of model: 2 of 1 prompt" in capsys.readouterr().out
    shutil.copytree(other / "images", one / "images", dirs_exist_ok=True)
    assert main(["store", "repair", str(one)]) == 0
    assert "a new index has 3 images (1 of them adopted), 0 refused" in capsys.readouterr().out


def test_what_is_unreadable_is_not_counted_as_refused(tmp_path, capsys):
    store = Store(tmp_path)
    refusals = {"aa1": "unreadable: a.png", "ab2": "no", "ac3": None}
    for key, refusal in refusals.items():
        store.add_images([replace(new(key), generated=Generated(None, refusal=refusal))])
    store.close()
    assert main(["store", "show", str(tmp_path)]) == 0
    assert "images of model: 0 of 1 prompt, and 2 refused, and 1 unreadable" in told(capsys)
    assert main(["store", "repair", str(tmp_path)]) == 0
    assert "a new index has 0 images, 2 refused, 1 unreadable, 0 detections" in told(capsys)


def told(capsys):
    return capsys.readouterr().out


def test_images_that_no_run_needs_are_removed(tmp_path, capsys):
    fill(tmp_path / "store", "aa1", "ab2")
    note_needed(tmp_path / "store", "20260101T000000-a", ["ab2"])
    assert main(["store", "prune", str(tmp_path / "store"), "--keep-runs", "3"]) == 0
    assert "1 image removed, 0.0 MiB; 1 stay, as the last run needed" in capsys.readouterr().out


def test_arguments_that_do_not_go_together_are_one_line(capsys):
    for arguments, told in (
        (["prune", "x"], "t2i store prune: expected --keep-runs N"),
        (["show", "x", "--keep-runs", "2"], "t2i store show takes no --keep-runs"),
        (["prune", "x", "--keep-runs", "2"], "x: expected the folder of a store, found none"),
    ):
        assert main(["store", *arguments]) == 2
        assert told in capsys.readouterr().err
