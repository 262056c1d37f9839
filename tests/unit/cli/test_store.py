"""``t2i store verify`` and ``t2i store repair``."""

from __future__ import annotations

from writing import new

from pytest_t2i.cli.main import main
from pytest_t2i.generation.store import Store


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
    assert "1 images and 0 arrays read into a new index" in capsys.readouterr().out


def test_no_store_is_one_line(tmp_path, capsys):
    assert main(["store", "verify", str(tmp_path / "nowhere")]) == 2
    assert "there is no store" in capsys.readouterr().err
