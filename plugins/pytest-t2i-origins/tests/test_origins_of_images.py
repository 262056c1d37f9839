"""``sample.origins``: what is asked for apart, made once, taken from the store."""

from __future__ import annotations

from dataclasses import replace

import fakes
import pytest
from PIL import Image
from pytest_t2i.adapters.catalogue import FACES, Catalogue
from pytest_t2i.audits.engine.instruments import Instruments
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.audits.engine.samples import Sample
from pytest_t2i.data import Attribute, Box, Generated, GenerationSettings, NextToken, Prompt
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan, RequestSettings
from pytest_t2i.generation.progress import Silent
from pytest_t2i.generation.store import Store
from pytest_t2i.prompts import Stereotype
from pytest_t2i.settings import Settings

pytest.importorskip("sklearn")

NURSE = Prompt("a photo of a nurse", "profession", "nurse")
PILOT = Prompt("a photo of a pilot", "profession", "pilot")
BLUE = Stereotype(NURSE, Attribute("blue", "blue", "red"), 0.5)
RED = Stereotype(NURSE, Attribute("red", "red", "blue"), 0.5)
SEEDS = tuple(range(12))


class Model(fakes.FakeModel):
    """One of its pictures comes out black, one is refused."""

    def _one(self, request):
        if request.seed == 901:
            return Generated(Image.new("RGB", (16, 16)))
        return Generated(None, refusal="no") if request.seed == 902 else super()._one(request)


class Faces:
    """All of a picture is a face, or its middle."""

    fingerprint = "faces"

    def __init__(self, inset):
        self.inset = inset

    def faces(self, images):
        left = self.inset
        return [[Box(left, left, i.width - left, i.height - left)] for i in images]


class Encoder(fakes.FakeTextEncoder):
    """Counts whole pictures; a face has another size."""

    def __init__(self):
        self.whole = 0

    def encode(self, images):
        self.whole += sum(image.size == (16, 16) for image in images)
        return super().encode(images)


class Echo:
    """A language model of two words without a fingerprint; counts how often it is asked."""

    asked = 0

    def next_tokens(self, texts, count):
        self.asked += 1
        return [[NextToken(f"{text} blue", 0.5), NextToken(f"{text} red", 0.5)] for text in texts]


class Named(Echo):
    """One that has a fingerprint."""

    fingerprint = "echo-1"


class Rig:
    """One run over a store."""

    def __init__(self, folder, language=None):
        self.store = Store(folder)
        self.components = Components(Settings(model="mine", store=folder), self.store)
        self.encoder, self.language, self.loaded = Encoder(), language or Echo(), []
        registries = self.components.registries
        registries.models.update({"mine": lambda _: Model(0.5, "fair")})
        registries.encoders.update({"clip": lambda _: self.encoder})
        faces = {
            "whole": self._loading("whole", Faces(0)),
            "middle": self._loading("middle", Faces(5)),
        }
        registries.faces.update(faces)
        registries.languages.update({"echo": self._loading("echo", self.language)})
        aliases = {FACES: {"a": "whole", "b": "middle"}}
        self.components._catalogue = Catalogue({}, aliases)
        self.observations = Observations(self.components, RequestSettings(GenerationSettings()))

    def _loading(self, name, part):
        return lambda _: self.loaded.append(name) or part

    def sample(self, prompt=NURSE, seeds=SEEDS, observed=False, detector="colour:a"):
        """Of images that are made now, their features observed or not."""
        plan = Plan(RequestSettings(GenerationSettings()))
        encoders = frozenset({"clip"} if observed else ())
        plan.add(Need(prompt, seeds, encoders=encoders))
        Runner(self.components, self.store, Silent()).run(plan)
        self.encoder.whole = 0
        instruments = Instruments("clip", 0, (), (), lambda prompt, n: ())
        ref = DetectorRef(detector)
        return Sample(prompt, seeds, ref, self.observations, 0.95, instruments=instruments)


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


def found(sample, llm="echo", **options):
    return sample.origins(llm, **{"clusters": 2, "tokens": 1, "top": 1, **options})


def by_colour(origins):
    named = [(cluster.prompts[0].text, cluster) for cluster in origins.clusters]
    return sorted(named, key=lambda pair: pair[0])


class TestWhatIsAskedFor:
    def test_stereotypes(self, rig):
        sample = rig.sample()
        told = [found(sample, stereotypes=asked).clusters[0] for asked in ([BLUE], [RED], [])]
        assert [set(cluster.shares) for cluster in told] == [{"blue"}, {"red"}, set()]
        assert [cluster.excess is None for cluster in told] == [False, False, True]
        assert found(sample, stereotypes=(BLUE,)) is found(sample, stereotypes=[BLUE])

    @pytest.mark.parametrize(
        "other",
        [
            replace(BLUE, attribute=Attribute("blue", "red", "blue")),
            replace(BLUE, expected=0.75),
            replace(BLUE, direction="under"),
        ],
    )
    def test_a_stereotype_of_the_same_name(self, rig, other):
        sample = rig.sample()
        (_, plain), (_, changed) = (
            by_colour(found(sample, stereotypes=[asked]))[0] for asked in (BLUE, other)
        )
        assert plain.excess == 0.5
        assert changed.excess == (0.25 if other.expected == 0.75 else 0.0)

    def test_the_face_part(self, rig):
        sample = rig.sample()
        plain, middle = (found(sample, faces=faces).means for faces in (None, "middle"))
        assert plain != middle
        assert found(sample, faces="whole").means == plain
        assert found(rig.sample(detector="colour:b")).means == middle

    def test_encoder_seed_level_and_the_prompt_itself(self, rig):
        sample = rig.sample()
        first = found(sample)
        coarse = found(replace(sample, level=0.5)).clusters[0].share
        assert coarse.level == 0.5
        reseeded = replace(sample, instruments=replace(sample.instruments, seed=1))
        assert found(reseeded) is not first
        rig.components.registries.encoders.update({"other": fakes.text_encoder})
        other = replace(sample, instruments=replace(sample.instruments, encoder="other"))
        assert found(other) is not first
        namesake = replace(sample, prompt=replace(NURSE, concept="carer"))
        assert found(namesake).prompt.concept == "carer"


def test_language_model_and_face_part_are_loaded_once(rig):
    for prompt in (NURSE, PILOT):
        found(rig.sample(prompt))
        found(rig.sample(prompt), clusters=3)
    assert sorted(rig.loaded) == ["echo", "whole"]


@pytest.mark.parametrize("observed", [True, False])
def test_features_of_whole_pictures_come_from_the_store(rig, observed):
    sample = rig.sample(observed=observed)
    origins = found(sample)
    assert rig.encoder.whole == (0 if observed else len(SEEDS))
    assert {text for text, _ in by_colour(origins)} == {
        "This is a photo of blue", "This is a photo of red",
    }  # fmt: skip
    assert origins.places == SEEDS


@pytest.mark.parametrize("observed", [True, False])
def test_black_and_refused_pictures_are_left_out(rig, observed):
    origins = found(rig.sample(seeds=(901, 902, *SEEDS), observed=observed))
    assert (origins.images, origins.faceless) == (12, 0)


class TestRemembering:
    """What another run over the same store asks of the language model."""

    @pytest.fixture
    def asked(self, tmp_path):
        def asked(language, llm="echo", **options):
            rig = Rig(tmp_path, language)
            rig.components.registries.languages.update({"echo-2": lambda _: language})
            before = language.asked
            prompts = by_colour(found(rig.sample(), llm, **options))
            return language.asked - before, [cluster.prompts for _, cluster in prompts]

        return asked

    @pytest.mark.parametrize("language", [Echo, Named])
    def test_nothing_where_it_was_asked_before(self, asked, language):
        first, again = asked(language()), asked(language())
        assert (first[0], again[0]) == (2, 0)
        assert again[1] == first[1]

    def test_a_fingerprint_counts_and_not_the_name(self, asked):
        assert asked(Named())[0] == 2
        assert asked(Named(), "echo-2")[0] == 0
        newer = Named()
        newer.fingerprint = "echo-2"
        assert asked(newer)[0] == 2

    def test_without_a_fingerprint_the_name_counts(self, asked):
        assert asked(Echo())[0] == 2
        assert asked(Echo(), "echo-2")[0] == 2

    @pytest.mark.parametrize("options", [{"width": 3}, {"top": 2}, {"tokens": 2}])
    def test_another_search_is_made(self, asked, options):
        assert asked(Named())[0] == 2
        assert asked(Named(), **options)[0] == 2 * options.get("tokens", 1)

    def test_another_encoder_is_asked(self, asked, monkeypatch):
        assert asked(Named())[0] == 2
        monkeypatch.setattr(Encoder, "fingerprint", "newer")
        assert asked(Named())[0] == 2

    def test_another_method_is_asked(self, asked, monkeypatch):
        assert asked(Named())[0] == 2
        monkeypatch.setattr("pytest_t2i_origins.origins.origins_of_images.METHOD", "newer")
        assert asked(Named())[0] == 2
