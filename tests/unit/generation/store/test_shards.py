"""Traces and features lie together in few files, and each is checked by itself."""

from __future__ import annotations

from contextlib import closing

import fakes
import numpy as np
import pytest
from writing import new

from pytest_t2i.data import FINAL_LATENT, Prompt
from pytest_t2i.errors import StoreError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import Need, Plan, RequestSettings
from pytest_t2i.generation.store import Store, shards
from pytest_t2i.generation.store.pruning import note_needed, prune
from pytest_t2i.generation.store.repair import repair, verify_store
from pytest_t2i.generation.store.shards import read_array, write_arrays
from pytest_t2i.settings import Settings

KEYS = ["aa1", "ab2", "ac3"]


def latent(number):
    return np.full((1, 2, 2), number, dtype=np.float32)


def files(folder):
    return sorted(folder.rglob("arrays/*/*"))


@pytest.fixture
def folder(tmp_path):
    with closing(Store(tmp_path / "store")) as store:
        store.add_images(new(key, latent=latent(k)) for k, key in enumerate(KEYS))
    return store.folder


def latents(folder):
    with closing(Store(folder)) as store:
        return {
            key: float(store.open_array(one)[0, 0, 0])
            for key, one in store.arrays(KEYS, FINAL_LATENT).items()
        }


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    "array",
    [
        np.float32(1.5),
        np.zeros(0, np.float32),
        np.ones((2, 3), np.float16),
        np.arange(3, dtype=">f8"),
        np.arange(12, dtype=np.int64).reshape(3, 4).T,
        np.array([True, False]),
        np.arange(5, dtype=np.uint8),
        np.array([1 + 2j], np.complex64),
    ],
)
def test_an_array_comes_back_as_it_was(tmp_path, array):
    (row,) = write_arrays(tmp_path, [("aa1", "what is seen", array)])
    back = read_array(tmp_path / row[2], *row[:2], row[3])
    assert np.array_equal(back, array)
    assert (back.shape, back.dtype.name) == (np.shape(array), np.asarray(array).dtype.name)
    back[...] = 0  # it may be written to, as any array
    assert read_array(tmp_path / row[2], "aa1", "another name", row[3]) is None
    assert read_array(tmp_path / row[2], *row[:2], "0" * 64) is None


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.array([object()]), np.ones(1, np.longdouble)]
)
def test_what_is_no_number_is_refused(tmp_path, array):
    with pytest.raises(
        StoreError, match="array 'n' of k: expected whole or floating-point numbers"
    ):
        write_arrays(tmp_path, [("k", "n", array)])
    assert not list(tmp_path.rglob("*.*"))


def test_all_traces_of_a_batch_are_one_file_and_large_ones_several(folder, monkeypatch):
    assert len(files(folder)) == 1
    monkeypatch.setattr(shards, "MOST_BYTES", 100)
    with closing(Store(folder)) as store:
        store.add_arrays("features", {key: np.ones(10, np.float32) for key in KEYS[:2]})
        store.add_arrays("large", {key: np.ones(100, np.float32) for key in KEYS[:2]})
        store.add_arrays("small", {key: np.ones(12, np.float32) for key in [*KEYS, "ad4", "ae5"]})
        assert len(store.arrays(KEYS, "large")) == 2
        assert {store.open_array(one).shape for one in store.arrays(KEYS, "small").values()} == {
            (12,)
        }
    assert len(files(folder)) == 1 + 1 + 2 + 3


@pytest.mark.slow
def test_no_changed_byte_gives_other_numbers(folder):
    (file,) = files(folder)
    content = file.read_bytes()
    with closing(Store(folder)) as store:
        stored = store.arrays(KEYS, FINAL_LATENT)
    for place in range(len(content)):
        for cut in (False, True):
            spoiled = bytearray(content[:place] if cut else content)
            if not cut:
                spoiled[place] ^= 1
            file.write_bytes(spoiled)
            read = [read_array(one.file, k, FINAL_LATENT, one.sha256) for k, one in stored.items()]
            assert sum(array is None for array in read) >= 1, place
            for k, array in enumerate(read):
                assert array is None or np.array_equal(array, latent(k)), place


def test_damage_is_named_once_and_strikes_what_it_met(folder):
    (file,) = files(folder)
    flip(file, -1)  # the bytes of the last one
    findings = verify_store(folder)
    assert (findings.damaged, findings.arrays, findings.images) == ([file], 2, 3)
    assert latents(folder) == {"aa1": 0.0, "ab2": 1.0}
    assert verify_store(folder).is_whole
    file.write_bytes(b"rot")
    assert verify_store(folder).damaged == [file]
    assert latents(folder) == {}


def test_damage_that_a_look_at_the_time_does_not_tell_is_met_when_it_is_opened(folder):
    (file,) = files(folder)
    with closing(Store(folder)) as store:
        stored = store.arrays(KEYS, FINAL_LATENT)
        flip(file, -1)
        with pytest.raises(StoreError, match=r"safetensors: damaged \(its checksum differs\)"):
            store.open_array(stored["ac3"])
        assert store.open_array(stored["ab2"])[0, 0, 0] == 1
        file.unlink()
        with pytest.raises(StoreError, match="No such file"):
            store.open_array(stored["ab2"])
    assert latents(folder) == {}


def test_a_run_makes_again_what_was_struck_and_nothing_else(tmp_path):
    def run():
        with closing(Store(tmp_path / "store")) as store:
            components = Components(Settings(model="fair"), store)
            components.registries.models.local["fair"] = fakes.fair
            components.registries.encoders.local["colour"] = fakes.encoder
            plan = Plan(RequestSettings(Settings().generation))
            asked = frozenset({FINAL_LATENT, "attention"})
            prompt = Prompt("a photo of a nurse", "job", "nurse")
            plan.add(Need(prompt, (1, 2, 3, 4), encoders=frozenset({"colour"}), observe=asked))
            return Runner(components, store).run(plan).made

    assert (run(), run()) == (4, 0)
    # The traces of a batch, those that the model does not show among them, and its features.
    assert len(files(tmp_path / "store")) == 2
    (traces,) = (f for f in files(tmp_path / "store") if FINAL_LATENT.encode() in f.read_bytes())
    flip(traces, -1)
    assert (run(), run()) == (1, 0)
    traces.unlink()
    assert (run(), run()) == (3, 0)


def test_a_file_goes_with_the_last_row_that_names_it(folder):
    (file,) = files(folder)
    with closing(Store(folder)) as store:
        store.add_arrays("features", {"ac3": latent(5)})
        # Made again: what it came to before stands in a file that others need.
        store.add_images([new("ab2", latent=latent(6))])
    note_needed(folder, "20260101T000000-r", ["aa1", "ab2"])
    prune(folder, 1)
    assert latents(folder) == {"aa1": 0.0, "ab2": 6.0}
    assert len(files(folder)) == 2
    assert file.exists()
    note_needed(folder, "20260102T000000-r", ["ab2"])
    done = prune(folder, 1)
    assert not file.exists()
    assert done.bytes > 100
    assert latents(folder) == {"ab2": 6.0}
    assert verify_store(folder).is_whole


def test_a_file_without_rows_as_a_kill_leaves_it_is_of_no_effect_and_goes(folder):
    write_arrays(folder, [("ff9", FINAL_LATENT, latent(9))])
    assert verify_store(folder).is_whole
    note_needed(folder, "20260101T000000-r", KEYS)
    prune(folder, 1)
    assert len(files(folder)) == 1


def test_a_lost_index_finds_the_latents_that_were_written_last(folder):
    (file,) = files(folder)
    with closing(Store(folder)) as store:
        store.add_images([new("ab2", latent=latent(6))])
    (file.parent / f"{'0' * 32}.safetensors").write_bytes(b"rot")
    circle = file.parent / f"{'1' * 32}.safetensors"
    circle.symlink_to(circle)
    (folder / "index.sqlite").unlink()
    assert repair(folder).arrays == 3
    assert latents(folder) == {"aa1": 0.0, "ab2": 6.0, "ac3": 2.0}
    flip(file, 3)
    assert verify_store(folder).damaged == [file]
    assert latents(folder) == {"ab2": 6.0}
