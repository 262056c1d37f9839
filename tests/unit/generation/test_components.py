"""Names become models, detectors, encoders; nothing heavy loads before it must."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_t2i.adapters import registry
from pytest_t2i.adapters.catalogue import papers, read_catalogues
from pytest_t2i.adapters.registry import Registries, Registry, import_factory
from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.store import Store
from pytest_t2i.settings import Settings


class Loaded:
    """A model that counts how often it is loaded."""

    count = 0

    def __init__(self, options):
        Loaded.count += 1
        self.options, self.fingerprint = options, f"loaded from {options.source}"


@pytest.fixture
def components(tmp_path):
    def make(**settings):
        made = Components(Settings(**settings), Store(tmp_path / "store"))
        made.registries.models.update({"diffusers": Loaded, "mine": Loaded})
        made.registries.detectors.update({"clip": Loaded, "clip-enhance": Loaded})
        Loaded.count = 0
        return made

    return make


def test_the_papers_models_are_in_the_catalogue():
    result = read_catalogues(Registries().catalogues)
    assert {"sdxl", "sd3", "sd3.5", "sd1.4", "sd2.0", "sd2.1", "dreamlike", "flux-dev",
            "flux-schnell"} <= set(result.models)  # fmt: skip
    assert result.models["sdxl"].options.defaults.steps == 50
    assert papers().is_file()


def test_an_alias_brings_its_settings(components):
    options = components(model="sdxl").model().get().options
    assert options.source == "stabilityai/stable-diffusion-xl-base-1.0"
    assert (options.defaults.width, options.dtype) == (1024, "auto")


def test_options_win_over_the_catalogue(components):
    options = components(model="sdxl", dtype="float32", device="cpu").model().get().options
    assert (options.dtype, options.device) == ("float32", "cpu")


@pytest.mark.parametrize("name", ["owner/name", "mine", "mine:part"])
def test_hub_ids_and_registered_models(components, name):
    assert components(model=name).model().get().fingerprint.startswith("loaded from")


@pytest.fixture
def installed(monkeypatch):
    """What an entry point names is our fake: not a conftest.py's own, which is asked every time."""
    load = registry._load

    def loaded(kind, point):
        return Loaded if kind in {"model", "detector"} else load(kind, point)

    monkeypatch.setattr(registry, "_load", loaded)

    def made(made):
        made.registries.models.local.clear()
        made.registries.detectors.local.clear()
        return made

    return made


def test_a_local_folder_loads_once_and_is_remembered(components, tmp_path, installed):
    folder = tmp_path / "pipeline"
    folder.mkdir()
    (folder / "model_index.json").write_text("{}")
    first = installed(components(model=str(folder))).model()
    assert first.fingerprint.endswith("pipeline")
    assert Loaded.count == 1
    second = installed(components(model=str(folder))).model()
    assert second.fingerprint == first.fingerprint
    assert Loaded.count == 0
    (folder / "model_index.json").write_text("{ }")
    assert installed(components(model=str(folder))).model().fingerprint
    assert Loaded.count == 1
    # The same name by a conftest.py: whatever it is, it is asked.
    for _ in range(2):
        assert components(model=str(folder)).model().fingerprint
        assert Loaded.count == 1


def test_a_hub_id_is_asked_every_time(components):
    for _ in range(2):
        assert components(model="owner/name").model().fingerprint
        assert Loaded.count == 1


@pytest.mark.parametrize("name", ["./nowhere", "~/nowhere"])
def test_a_folder_that_is_not_there_is_told_as_such(components, name):
    with pytest.raises(ConfigurationError, match="there is no such folder"):
        components(model=name).model()


@pytest.mark.parametrize("name", ["sdxxl", "a/b/c", "mine2"])
def test_unknown_models_are_answered_with_the_known(components, name):
    with pytest.raises(UnknownNameError, match=r"Known: .*flux-dev.* others"):
        components(model=name).model()


def test_weights_are_aliases_folders_or_hub_ids(components):
    made = components(model="sdxl")
    assert made.detector(DetectorRef("clip:vit-b-32")).get().options.source.startswith("openai/")
    assert made.detector(DetectorRef("clip:owner/x")).get().options.source == "owner/x"
    with pytest.raises(UnknownNameError, match="unknown weights"):
        made.detector(DetectorRef("clip:vitb"))


def test_an_alias_stands_for_the_weights_of_every_part(components, tmp_path):
    (tmp_path / "person.pt").write_bytes(b"weights")
    (tmp_path / "clip").mkdir()
    (tmp_path / "clip" / "config.json").write_text("{}")
    (tmp_path / "c.toml").write_text(
        "[weights]\nclip.mine = 'clip'\nyolo.mine = 'person.pt'\nfaces.mine = 'dlib-hog'\n"
        "crop.mine = 'grey'\n"
    )
    made = components(model="sdxl")
    made.registries.catalogues.update({"mine": lambda: tmp_path / "c.toml"})
    made.registries.faces.update({"own": Loaded})
    handle = made.detector(DetectorRef("clip-enhance:mine"))
    options = handle.get().options
    assert options.source == ""
    assert options.extra["weights"] == {
        "clip": str(tmp_path / "clip"),
        "yolo": str(tmp_path / "person.pt"),
        "faces": "dlib-hog",
        "crop": "grey",
    }
    assert "own" in options.extra["registries"].faces
    # All of it is local, so nothing need be loaded to know the fingerprint next time.
    assert handle.identity
    first = handle.identity
    (tmp_path / "person.pt").write_bytes(b"other weights")
    assert made._part("detector", "clip-enhance:mine").identity != first


def test_a_hub_id_behind_a_detector_of_parts_is_its_clip(components):
    options = components(model="sdxl").detector(DetectorRef("clip-enhance:owner/x")).get().options
    assert (options.source, options.extra["weights"]) == ("owner/x", {})


def test_unknown_detectors_are_answered_with_the_known(components):
    with pytest.raises(UnknownNameError, match="Did you mean 'clip'"):
        components(model="sdxl").detector(DetectorRef("clp"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[models.a]\nsteps = 3\n", r"\[models.a\]: expected a table with a path"),
        ("[models.a]\npath = 'x'\nstep = 3\n", r"\[models.a\] step: unknown key"),
        ("[models.a]\npath = 'x'\nparts = 'vae'\n", r"\[models.a\].*parts='vae'"),
        ("[models.a]\npath = 'x'\nmax_sequence_length = 0\n", r"max_sequence_length"),
        ("[models.a]\npath = 'x'\nextra = 3\n", r"\[models.a\].*extra=3"),
        (
            "[models.a]\npath = 'x'\n[models.a.extra]\nnum_inference_steps = 9\n",
            r"\[models.a\] extra: .*num_inference_steps.*Set steps in \[models.a\]",
        ),
        (
            "[models.a]\npath = 'x'\n[models.a.extra]\nprompt = 'a'\n",
            r"\[models.a\] extra: .*prompt.*The run sets it",
        ),
        (
            "[models.a]\npath = 'x'\n[models.a.extra]\nlora = 3\n",
            r"\[models.a\] extra: lora: expected FOLDER_OR_ID:SCALE.*got 3",
        ),
        ("[weights]\nclip = 3\n", r"\[weights.clip\]"),
        ("[weights.clip]\na = 3\n", r"\[weights.clip\] a: expected a path"),
        ("[models", "not valid TOML"),
    ],
)
def test_bad_catalogues(tmp_path, text, problem):
    (tmp_path / "c.toml").write_text(text)
    registry = Registry("catalogue")
    registry.update({"mine": lambda: tmp_path / "c.toml"})
    with pytest.raises(FileFormatError, match=problem):
        read_catalogues(registry)


def test_folders_beside_a_catalogue_are_found(tmp_path):
    (tmp_path / "weights").mkdir()
    (tmp_path / "c.toml").write_text(
        "[models.a]\npath = 'weights'\n[weights.clip]\nb = 'weights'\n"
    )
    registry = Registry("catalogue")
    registry.update({"mine": lambda: tmp_path / "c.toml"})
    result = read_catalogues(registry)
    assert Path(result.models["a"].options.source) == tmp_path / "weights"
    assert result.resolve_weights("clip", "b") == str(tmp_path / "weights")


def test_parts_and_changes_of_a_catalogue_are_found(tmp_path):
    (tmp_path / "vae").mkdir()
    (tmp_path / "tuned.safetensors").touch()
    (tmp_path / "c.toml").write_text(
        "[models.a]\npath = 'x/y'\nparts = {vae = 'vae', unet = 'owner/unet'}\n"
        "changes = 'tuned.safetensors'\nmax_sequence_length = 9\n"
    )
    registry = Registry("catalogue")
    registry.update({"mine": lambda: tmp_path / "c.toml"})
    assert read_catalogues(registry).models["a"].options.extra == {
        "parts": {"vae": str(tmp_path / "vae"), "unet": "owner/unet"},
        "changes": str(tmp_path / "tuned.safetensors"),
        "call": {"max_sequence_length": 9},
    }


def test_further_arguments_of_a_pipeline_are_passed_on(tmp_path):
    (tmp_path / "c.toml").write_text(
        "[models.a]\npath = 'x/y'\nmax_sequence_length = 9\n"
        "[models.a.extra]\nclip_skip = 2\nlayers = [1, 2]\n[models.b]\npath = 'x/y'\n"
    )
    registry = Registry("catalogue")
    registry.update({"mine": lambda: tmp_path / "c.toml"})
    models = read_catalogues(registry).models
    assert models["a"].options.extra == {
        "call": {"clip_skip": 2, "layers": [1, 2], "max_sequence_length": 9}
    }
    assert models["b"].options.extra == {}, "keys stay as they are without any"


def test_fields_of_a_request_are_passed_on_to_a_service(tmp_path):
    (tmp_path / "c.toml").write_text(
        "[models.a]\npath = 'x'\nadapter = 'openai'\n[models.a.extra]\nn = 2\nlora = 'a'\n"
    )
    registry = Registry("catalogue")
    registry.update({"mine": lambda: tmp_path / "c.toml"})
    extra = read_catalogues(registry).models["a"].options.extra
    assert extra == {"call": {"n": 2, "lora": "a"}}, "the service knows what it takes"


def test_a_lora_lies_beside_the_catalogue(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "c.toml").write_text(
        "[models.a]\npath = 'x/y'\n[models.a.extra]\nlora = 'mine:0.5'\n"
    )
    registry = Registry("catalogue")
    registry.update({"mine": lambda: tmp_path / "c.toml"})
    extra = read_catalogues(registry).models["a"].options.extra
    assert extra == {"lora": {"source": str(tmp_path / "mine"), "scale": 0.5}}


def test_model_options_win_over_the_catalogues(components, tmp_path):
    (tmp_path / "c.toml").write_text(
        "[models.a]\npath = 'x/y'\n[models.a.extra]\nclip_skip = 2\n"
        "style = {name = 'vivid', strength = 1}\n"
    )
    given = {"clip_skip": 1, "eta": 0.5, "style": {"strength": 2}, "lora": "owner/name:0.5"}
    made = components(model="a", catalogue=tmp_path / "c.toml", model_option=given)
    assert made.model().get().options.extra == {
        "call": {"clip_skip": 1, "eta": 0.5, "style": {"name": "vivid", "strength": 2}},
        "lora": {"source": "owner/name", "scale": 0.5},
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("num_inference_steps", "give --t2i-steps"),
        ("height", "give --t2i-size"),
        ("guidance_scale", "give --t2i-guidance"),
        ("negative_prompt", "give negative_prompt in the model's table"),
        ("generator", "the run sets it"),
    ],
)
def test_a_model_option_that_the_run_sets_is_refused(components, name, words):
    with pytest.raises(ConfigurationError, match=f"--t2i-model-option: .*got {name}: {words}"):
        components(model="sdxl", model_option={name: 1}).model()


def test_a_model_of_another_kind_takes_no_further_arguments(components):
    with pytest.raises(ConfigurationError, match="takes no further arguments, got quality"):
        components(model="mine:part", model_option={"quality": "high"}).model().get()


def test_a_projects_own_catalogue_wins(components, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "people.onnx").write_bytes(b"weights")
    own = tmp_path / "mine" / "own.toml"
    own.write_text(
        "[models.sdxl]\npath = 'other/model'\n[models.new]\npath = 'x/y'\nsteps = 3\n"
        "[weights.persons]\na = 'yolo:people.onnx'\n"
    )
    monkeypatch.chdir(tmp_path)
    made = components(model="sdxl", catalogue=Path("mine/own.toml"))
    assert made.model().get().options.source == "other/model"
    assert made.catalogue.models["new"].options.defaults.steps == 3
    people = made.catalogue.resolve_weights("persons", "a")
    assert people == f"yolo:{tmp_path / 'mine' / 'people.onnx'}"
    with pytest.raises(FileFormatError, match=r"nowhere\.toml: no such file"):
        _ = components(model="sdxl", catalogue=Path("nowhere.toml")).catalogue


def test_weights_of_a_face_part_are_found_beside_a_catalogue(tmp_path):
    (tmp_path / "yunet.onnx").write_bytes(b"weights")
    (tmp_path / "c.toml").write_text("[weights.faces]\na = 'yunet:yunet.onnx'\nb = 'dlib-hog'\n")
    registry = Registry("catalogue")
    registry.update({"mine": lambda: tmp_path / "c.toml"})
    result = read_catalogues(registry)
    assert result.resolve_weights("faces", "a") == f"yunet:{tmp_path / 'yunet.onnx'}"
    assert result.resolve_weights("faces", "b") == "dlib-hog"


def test_factories_by_path():
    assert import_factory("pathlib:Path") is Path
    with pytest.raises(ConfigurationError, match="there is no module 'nowhere'"):
        import_factory("nowhere:make")
    with pytest.raises(UnknownNameError, match="Did you mean 'Path'"):
        import_factory("pathlib:Pth")


def test_what_is_no_factory_is_refused():
    with pytest.raises(ConfigurationError, match="expected a factory for model 'mine', got 3"):
        Registry("model").update({"mine": 3})
