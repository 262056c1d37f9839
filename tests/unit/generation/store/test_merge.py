"""Two stores become one, by hand or by a tar file: nothing is lost, damage is named."""

from __future__ import annotations

import io
import json
import shutil
import tarfile

import numpy as np
import pytest
from writing import new

from pytest_t2i.data import Box, Detection, FoundObject
from pytest_t2i.errors import StoreError
from pytest_t2i.generation.store import Store, archive
from pytest_t2i.generation.store.entries import contents
from pytest_t2i.generation.store.merge import merge
from pytest_t2i.generation.store.repair import verify_store

LATENT = np.arange(4, dtype=np.float32).reshape(1, 2, 2)


def key(number: int) -> str:
    return f"{number % 256:02x}{number:06d}"


def colour(number: int):
    return (1 + number % 200, number // 200 % 256, 7)


def filled(folder, numbers, detector="d", shade=0):
    """A picture for each number; every third has a latent, every seventh is refused."""
    store = Store(folder)
    numbers = list(numbers)
    for start in range(0, len(numbers), 500):
        part = numbers[start : start + 500]
        store.add_images(
            new(
                key(n),
                colour=(*colour(n)[:2], 7 + shade),
                refusal="no" if n % 7 == 6 else None,
                latent=LATENT + n if n % 3 == 0 and n % 7 != 6 else None,
            )
            for n in part
        )
        store.add_detections(detector, {key(n): Detection("male") for n in part})
    store.name_model("model", f"painter of {detector}")
    store.close()
    return store.folder


def held(folder, numbers, detectors=("d",)):
    """What is there of each: its picture's bytes, its latent, what was said."""
    store = Store(folder)
    keys = [key(n) for n in numbers]
    known = store.images(keys)
    latents = {k: store.open_array(a) for k, a in store.arrays(keys, "final_latent").items()}
    said = [store.detections(keys, detector) for detector in detectors]
    store.close()
    return {
        k: (
            image.file.read_bytes() if image.file else image.refusal,
            latents[k].tobytes() if k in latents else None,
            *(words[k].label if k in words else None for words in said),
        )
        for k, image in known.items()
    }


def _check_merge(tmp_path, size):
    """Half in common, damage in either: the size of a test, and of a trial."""
    one = filled(tmp_path / "one", range(size))
    other = filled(tmp_path / "other", range(size // 2, size + size // 2), "e")
    expected = held(one, range(size), "de") | held(other, range(size, size + size // 2), "de")
    for n in range(size // 2, size):
        picture, latent, *_ = expected[key(n)]
        expected[key(n)] = (picture, latent, "male", "male")
    pictures = [n for n in range(size + size // 2) if n % 7 != 6]
    here = [n for n in pictures if size // 2 <= n < size][:5]  # the other store has them whole
    only_here = next(n for n in pictures if n < size // 2)
    common_there = [n for n in pictures if size // 2 <= n < size][5:10]  # this store has them whole
    only_there = [n for n in pictures if n >= size][:5]
    for folder, spoiled in ((one, [*here, only_here]), (other, common_there + only_there)):
        for n in spoiled:
            (folder / f"images/{key(n)[:2]}/{key(n)}.png").write_bytes(b"rot")
    merged = merge(one, other)
    for n in [only_here, *only_there]:
        del expected[key(n)]
    lost = [path.stem for path in merged.here.damaged]
    assert sorted(lost) == sorted(key(n) for n in [*here, only_here])
    # What this store has whole is not even read there.
    assert sorted(p.stem for p in merged.there.damaged) == sorted(key(n) for n in only_there)
    assert not merged.is_whole
    now = held(one, range(size + size // 2), "de")
    assert now.keys() == expected.keys()
    for k, (picture, latent, *words) in expected.items():
        # What was said here of a damaged one went with it.
        said = [None, "male"] if k in {key(n) for n in here} else words
        assert now[k] == (picture, latent, *said), k
    assert verify_store(one).is_whole
    assert merged.copied == size // 2 - 5 + 5
    assert merge(one, one.parent / "other").copied == 0


def test_what_one_lacks_is_copied_and_damage_is_named(tmp_path):
    _check_merge(tmp_path, 210)


@pytest.mark.slow
def test_ten_thousand_images_each(tmp_path):
    _check_merge(tmp_path, 10_000)


def test_another_picture_of_the_same_request_stays_out_with_its_words(tmp_path):
    one, other = filled(tmp_path / "a", range(3)), filled(tmp_path / "b", range(3), "e", shade=1)
    before = held(one, range(3), "de")
    merged = merge(one, other)
    assert (merged.otherwise, merged.copied, merged.said) == (3, 0, 0)
    assert held(one, range(3), "de") == before
    assert merged.is_whole


def test_a_new_folder_becomes_a_copy_with_objects_drawn_prompts_and_names(tmp_path):
    other = filled(tmp_path / "b", range(9))
    store = Store(other)
    hat = FoundObject("hat", Box(0, 0, 2, 1, 0.5))
    store.add_objects("finder", {key(0): [hat]})
    store.add_images([new("ff1", drawn="a smiling nurse")])
    store.close()
    merge(tmp_path / "a", other)
    store = Store(tmp_path / "a")
    assert store.objects([key(0)], "finder") == {key(0): (hat,)}
    assert store.revised_prompts(["ff1"]) == {"ff1": "a smiling nurse"}
    assert store.model_name("model") == "painter of d"
    store.close()
    assert held(tmp_path / "a", range(9)) == held(other, range(9))


def test_a_row_that_was_changed_by_hand_is_named_and_not_taken(tmp_path):
    one, other = filled(tmp_path / "a", range(2)), filled(tmp_path / "b", range(2, 4))
    store = Store(other)
    store._connection.execute("UPDATE images SET seed = 5 WHERE key = ?", (key(2),))
    store._connection.execute("UPDATE detections SET label = 'female' WHERE key = ?", (key(3),))
    store.close()
    merged = merge(one, other)
    assert merged.there.changed == [f"images {key(2)}", f"detections {key(3)}"]
    assert merged.there.images == 1
    assert held(one, range(4)).keys() == {key(0), key(1), key(3)}
    assert held(one, [3])[key(3)][-1] is None


def test_stores_at_work_and_no_stores_are_refused(tmp_path):
    one, other = filled(tmp_path / "a", range(2)), filled(tmp_path / "b", range(2))
    with pytest.raises(StoreError, match="expected two stores to merge, got the same one twice"):
        merge(one, one / ".." / "a")
    with pytest.raises(StoreError, match="expected the folder of a store"):
        merge(one, tmp_path / "nowhere")
    for works in (one, other):
        store = Store(works)
        store.claim(["ff9"])
        with pytest.raises(StoreError, match="a run is using this store"):
            merge(one, other)
        store.close()


def test_an_archive_brings_a_store_back(tmp_path):
    one = filled(tmp_path / "a", range(30))
    before = held(one, range(30))
    count = archive.export(one, tmp_path / "a.tar")
    assert count == 1 + len(list(one.rglob("*.png"))) + len(list(one.rglob("*.safetensors")))
    shutil.rmtree(one)
    found = archive.unpack(tmp_path / "a.tar", one)
    assert found.is_whole
    assert held(one, range(30)) == before
    assert not list(tmp_path.glob(".t2i-import-*"))
    with pytest.raises(StoreError, match="the file exists already"):
        archive.export(one, tmp_path / "a.tar")
    assert archive.unpack(tmp_path / "a.tar", one).merged.copied == 0


def spoil(file, change):
    """Write an archive anew with its members changed: name -> content; None leaves one out."""
    with tarfile.open(file) as tar:
        members = [(m.name, tar.extractfile(m).read()) for m in tar.getmembers()]
    with tarfile.open(file, "w") as tar:
        for name, content in members:
            changed = change(name, content)
            if changed is not None:
                told = tarfile.TarInfo(name)
                told.size = len(changed)
                tar.addfile(told, io.BytesIO(changed))


@pytest.fixture
def exported(tmp_path):
    one = filled(tmp_path / "a", range(6))
    archive.export(one, tmp_path / "a.tar")
    return tmp_path / "a.tar"


def test_damage_in_an_archive_is_named_and_the_rest_is_taken(exported, tmp_path):
    names = [f"images/{key(n)[:2]}/{key(n)}.png" for n in (1, 2)]
    changed = {names[0]: lambda content: content[:-1] + b"x", names[1]: lambda content: None}
    spoil(exported, lambda name, content: changed.get(name, lambda same: same)(content))
    found = archive.unpack(exported, tmp_path / "new")
    assert found.damaged == sorted(names)
    assert held(tmp_path / "new", range(6)).keys() == {key(n) for n in (0, 3, 4, 5)}


def test_what_was_damaged_when_it_was_exported_is_named(tmp_path):
    one = filled(tmp_path / "a", range(4))
    rotten = f"images/{key(1)[:2]}/{key(1)}.png"
    (one / rotten).write_bytes(b"rot")
    archive.export(one, tmp_path / "a.tar")
    found = archive.unpack(tmp_path / "a.tar", tmp_path / "new")
    assert found.damaged == [rotten]
    assert len(held(tmp_path / "new", range(4))) == 3


@pytest.mark.parametrize("at", [0, 100, 700, 5000, 20_000])
def test_a_cut_archive_is_told_and_leaves_no_half_store(exported, tmp_path, at):
    exported.write_bytes(exported.read_bytes()[:at])
    with pytest.raises(StoreError, match=r"a\.tar: "):
        archive.unpack(exported, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def _member(name, kind=tarfile.REGTYPE, link=""):
    told = tarfile.TarInfo(name)
    told.type, told.linkname = kind, link
    return told


@pytest.mark.parametrize(
    "member",
    [
        _member("../evil.png"),
        _member("/tmp/evil.png"),
        _member("images/aa/../../evil.png"),
        _member("images/aa/aa1.png", tarfile.SYMTYPE, "/etc/passwd"),
        _member("images/aa/aa1.png", tarfile.LNKTYPE, "index.sqlite"),
        _member("images/aa/aa1.png", tarfile.FIFOTYPE),
        _member("images", tarfile.DIRTYPE),
        _member("conftest.py"),
    ],
    ids=lambda m: f"{m.name} {m.type!r}",
)
def test_what_leads_elsewhere_is_refused(exported, tmp_path, member):
    with tarfile.open(exported, "a") as tar:
        tar.addfile(member)
    with pytest.raises(StoreError, match="expected the files of a store, got"):
        archive.unpack(exported, tmp_path / "deep" / "new")
    assert not (tmp_path / "deep" / "new").exists()
    assert not list(tmp_path.rglob("evil*"))


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ({"format": 2, "files": {}}, "its format is 2"),
        ({"format": 1}, "expected a tar file that t2i store export wrote"),
        ([1], "expected a tar file that t2i store export wrote"),
    ],
)
def test_another_manifest_is_told(exported, tmp_path, manifest, told):
    content = json.dumps(manifest).encode()
    spoil(exported, lambda name, old: content if name == archive.MANIFEST else old)
    with pytest.raises(StoreError, match=told):
        archive.unpack(exported, tmp_path / "new")


def test_contents_are_counted(tmp_path):
    one = filled(tmp_path / "a", range(21))
    found = contents(one)
    (model,) = found.models
    assert (model.name, model.images, model.refused, model.prompts) == ("painter of d", 18, 3, 1)
    assert found.detections == {"d": 21}
    assert found.arrays == {"final_latent": 6}
    assert found.bytes > 1000
    assert not found.user
    store = Store(one)
    store.claim(["ff9"])
    assert contents(one).user
    store.close()
