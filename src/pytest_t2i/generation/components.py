"""Resolve models, detectors and encoders by name, and load each when it is first needed."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pytest_t2i.adapters.catalogue import (
    PIPELINES,
    Catalogue,
    ModelEntry,
    check_option,
    read_catalogues,
    with_arguments,
)
from pytest_t2i.adapters.detectors.judging import Judge, JudgeRun
from pytest_t2i.adapters.detectors.rubrics import JUDGE, each_attribute
from pytest_t2i.adapters.endpoints.paid_requests import CountedPart
from pytest_t2i.adapters.endpoints.spending import RunCounts, Spending
from pytest_t2i.adapters.mitigations import (
    Mitigated,
    NamedMitigation,
    load_mitigated,
    load_mitigation,
)
from pytest_t2i.adapters.registry import (
    Factory,
    Registries,
    asked_for,
    brought_by_companion,
    hint_of_module,
    named_part,
)
from pytest_t2i.data import GenerationSettings, Money, Request, digest
from pytest_t2i.errors import ConfigurationError, GenerationError, UnknownNameError, blamed
from pytest_t2i.files import FileLock, user_path
from pytest_t2i.generation.check_weights import check_weights
from pytest_t2i.generation.detect_elsewhere import looking_factory
from pytest_t2i.generation.executors import InProcess
from pytest_t2i.generation.identities import CodeOrigin, NamedComponent, identities
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.ready_made import is_ready_made
from pytest_t2i.generation.run_mitigation import Mitigating
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import (
    Calibrated,
    Detector,
    Encoder,
    Executor,
    ExecutorOptions,
    LoadOptions,
    ObjectFinder,
    OpenSet,
    TextToImage,
)
from pytest_t2i.settings import Settings

DEFAULT_DETECTOR = "clip-enhance"
"""Detector of models without one in the catalogue: the nearest to human labels in Lyu Tables 1
to 3."""
OWN_NAMES = ("skin-tone:", "timm:", "vlm:")
"""Prefixes of parts that look up what follows themselves: no alias of the catalogue's weights."""


class ResolvedModel(NamedTuple):
    """What the name of the model under test stands for."""

    name: str
    adapter: str
    factory: Callable[[], Factory]
    """Imports the adapter's factory."""
    options: LoadOptions
    """Those of the catalogue or of the name, without the run's settings."""


@dataclass(slots=True)
class Components:
    """The model, detectors, encoders and executor of one run, resolved by name."""

    settings: Settings
    store: Store
    registries: Registries = field(default_factory=Registries)
    run_id: str | None = None
    """Id of the xdist run, whose workers share what one of them stored."""
    own_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Id of a run without workers."""
    version_note: str = ""
    """A note for the user on the version of a model behind HTTP."""
    _catalogue: Catalogue | None = None
    _detectors: dict[DetectorRef, NamedComponent[Detector]] = field(default_factory=dict)
    _encoders: dict[str, NamedComponent[Encoder]] = field(default_factory=dict)
    _finders: dict[str, NamedComponent[ObjectFinder]] = field(default_factory=dict)
    _resolved: ResolvedModel | None = None
    _model: NamedComponent[TextToImage] | None = None
    _mitigating: Mitigating | None = None
    _mitigated: Mitigated | None = None
    _judge_run: JudgeRun | None = None
    _keys: dict[Request, str] = field(default_factory=dict)
    """Cache: request -> the store's key of its image."""
    _keys_of: str = ""
    """Fingerprint of the model that these keys belong to."""

    def with_settings(self, settings: Settings) -> Components:
        """Other settings of the model, with the detectors and encoders of these components."""
        return Components(
            settings,
            self.store,
            self.registries,
            self.run_id,
            self.own_id,
            _detectors=self._detectors,
            _encoders=self._encoders,
        )

    @property
    def catalogue(self) -> Catalogue:
        if self._catalogue is None:
            setting = self.settings.catalogue
            self._catalogue = read_catalogues(self.registries.catalogues, setting)
        return self._catalogue

    def model(self) -> NamedComponent[TextToImage]:
        if self._model is None:
            name, adapter, factory, _ = self.resolved
            options = self.defaults()
            # A user's factory may depend on anything: its fingerprint is never cached.
            ours = adapter == PIPELINES and adapter not in self.registries.models.local
            identity = run_identity = None
            if ours:
                identity, run_identity = self._identities("model", name, options)

            def load() -> TextToImage:
                with asked_for("model", adapter, name if adapter == PIPELINES else ""):
                    return self._versioned(self._counting(adapter, factory())(options))

            self._model = NamedComponent(
                name,
                load,
                identity,
                self.store,
                lists_images=adapter != PIPELINES,
                run_identity=run_identity,
            )
        return self._model

    @property
    def price(self) -> Money | None:
        """Price of one image, from the option or the catalogue; None where neither names one."""
        return self.settings.price or (self.entry.price if self.entry else None)

    @property
    def spending(self) -> Spending | None:
        """Counter of the run's costs, shared by its processes; None without a price."""
        if (price := self.price) is None:
            return None
        budget = self.settings.budget
        return Spending(self.counts.file, price, budget, "requests", self.judge_price)

    @property
    def judge_price(self) -> Money | None:
        """Price of one picture that a judge looks at, from the catalogue; None without one."""
        names = (re.split("[@+]", name)[0] for name in self.detector_names)
        prices = self.catalogue.judge_prices
        return next((prices[name] for name in names if name in prices), None)

    @property
    def judge_spending(self) -> Spending | None:
        """The same counter for judged pictures; None without their price."""
        if (price := self.judge_price) is None:
            return None
        return Spending(self.counts.file, price, self.settings.budget, "judged", self.price)

    @property
    def counts(self) -> RunCounts:
        """What the run's processes count together: paid requests, and failed ones."""
        return RunCounts(self.store.folder / "locks" / f"{self.run_id or self.own_id}.counts")

    @property
    def judge_run(self) -> JudgeRun:
        if self._judge_run is None:
            locks = self.store.folder / "locks"
            self._judge_run = JudgeRun(
                self.store,
                self.judge_spending,
                self.counts,
                self.run_id,
                lambda: FileLock(locks / "judges"),
            )
        return self._judge_run

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The run's detectors that ask a judge, as far as they are loaded."""
        parts = (self.detector(DetectorRef(name)).loaded for name in self.detector_names)
        return tuple(part for part in parts if isinstance(part, Judge))

    @property
    def counts_requests(self) -> bool:
        from pytest_t2i.adapters.endpoints.endpoint_model import EndpointModel

        return self.model().lists_images and isinstance(self.model().get(), EndpointModel)

    def _counting(self, adapter: str, factory: Factory) -> Factory:
        """A model's factory; a model behind HTTP counts its failures and costs."""
        if adapter == PIPELINES:
            return factory
        from pytest_t2i.adapters.endpoints.counting_factory import load_counted

        return partial(load_counted, factory, self.counts, self.spending, adapter)

    def _versioned(self, model: TextToImage) -> TextToImage:
        """Determine the version of a model behind HTTP; its fingerprint depends on it."""
        from pytest_t2i.adapters.endpoints.endpoint_model import EndpointModel

        if isinstance(model, EndpointModel):
            from pytest_t2i.generation.identities import learn_versions

            self.version_note = learn_versions(self.store, model, self.run_id)
        return model

    def check_budget(self) -> None:
        """Raise ConfigurationError for a budget that cannot be kept."""
        budget, price, name = self.settings.budget, self.price, self.model().name
        if price is not None and self.settings.price and is_ready_made(self.model()):
            raise ConfigurationError(
                f"--t2i-price: expected a model that makes pictures, got {name}, whose pictures "
                "exist already: leave the option out"
            )
        if budget is None or (price is None and self.judge_price is not None):
            return
        if price is None:
            raise ConfigurationError(
                '--t2i-budget needs the price of an image: --t2i-price "0.04 USD", or price in the '
                "model's entry of a catalogue"
            )
        if budget.currency != price.currency:
            raise ConfigurationError(
                f"--t2i-budget: expected an amount in {price.currency}, as an image costs {price}, "
                f"got {budget}"
            )
        if not self.counts_requests:
            raise ConfigurationError(
                "--t2i-budget: expected a model behind HTTP, whose requests are counted "
                "(openai:MODEL, fal:MODEL and others, or a subclass of EndpointModel), got "
                f"{name}: leave the option out"
            )

    def check_judge_price(self) -> None:
        """Raise ConfigurationError for a price of judged pictures in another currency."""
        judge_price = self.judge_price
        if judge_price is None:
            return
        for option, amount in (("price", self.price), ("budget", self.settings.budget)):
            if amount is not None and amount.currency != judge_price.currency:
                raise ConfigurationError(
                    f"[judge_prices] of the catalogue: expected an amount in {amount.currency} as "
                    f"in --t2i-{option}, got {judge_price}"
                )

    def mitigating(self) -> Mitigating | None:
        """The run's mitigation, applied to prompts; None without one."""
        setting = self.settings.mitigation
        if setting is not None and self._mitigating is None:
            mitigation = load_mitigation(self.registries.mitigations, setting)
            self._mitigating = Mitigating(self._as_asked(mitigation))
        return self._mitigating

    def _as_asked(self, mitigation: NamedMitigation) -> NamedMitigation:
        defaults = self.defaults().defaults if self.settings.model else GenerationSettings()
        options = {k: v for k, v in asdict(self.settings.generation).items() if v is not None}
        mitigation = replace(mitigation, settings=replace(defaults, **options))
        _ = mitigation.passes
        if mitigation.compares_by is None:
            return mitigation
        part = self.encoder(mitigation.compares_by or self.encoder_name)
        return replace(mitigation, encoder=(part.name, part.fingerprint))

    @property
    def detector_names(self) -> tuple[str, ...]:
        """Detectors of the run; the detections of the first one are judged."""
        if self.settings.detectors:
            return tuple(dict.fromkeys(chain(*map(each_attribute, self.settings.detectors))))
        return ((self.entry and self.entry.detector) or DEFAULT_DETECTOR,)

    @property
    def encoder_name(self) -> str:
        """The encoder of image space: the detector's own where it has one, to load one only."""
        if self.entry and self.entry.encoder:
            return self.entry.encoder
        detector = self.detector_names[0]
        base, _, alias = detector.partition(":")
        if base in self.registries.encoders:
            return detector
        # A detector that classifies crops with the CLIP of this alias has loaded that CLIP.
        is_clip_alias = alias and alias in self.catalogue.weights.get("clip", {})
        return f"clip:{alias}" if is_clip_alias else "clip"

    def maker(self) -> TextToImage:
        """The model, wrapped by the run's mitigation where there is one."""
        mitigating = self.mitigating()
        if mitigating is None:
            return self.model().get()
        if self._mitigated is None:
            compared_by = mitigating.named.encoder
            encoder = self.encoder(compared_by[0]).get if compared_by else None
            self._mitigated = Mitigated(self.model().get(), mitigating.named, encoder)
        return self._mitigated

    def calibration(self) -> Calibrated | None:
        """The prompts that the model is calibrated for; None for any."""
        if self.entry is not None and self.entry.calibrated is not None:
            return self.entry.calibration()
        model = self.model().get() if self.model().lists_images else None
        return model if isinstance(model, Calibrated) else None

    def keys(self, requests: Iterable[Request]) -> list[str]:
        fingerprint = self.model().fingerprint
        if fingerprint != self._keys_of:
            self._keys.clear()
            self._keys_of = fingerprint
        listed = list(requests)
        for request in listed:
            if request not in self._keys:
                self._keys[request] = request.key(fingerprint)
        return [self._keys[request] for request in listed]

    def executor(self, batch: int, say: Callable[[str], None]) -> Executor:
        """The executor of the run, which makes the images."""
        name = self.settings.executor
        factory, source = named_part(self.registries.executors, name)
        model = self.model()
        options = ExecutorOptions(
            model.name, self.maker, self._recipe, batch, say, source, lambda: model.fingerprint
        )
        with blamed(GenerationError, "executor", name):
            executor = factory(options)
        if not isinstance(executor, Executor):
            raise ConfigurationError(
                f"executor {name!r}: expected an object with run(requests), got {executor!r}"
            )
        if self.settings.detect_where == "worker" and isinstance(executor, InProcess):
            raise ConfigurationError(
                f"--t2i-detect-where worker: expected an executor with workers, such as "
                f"--t2i-executor processes:2 or ray, got {name!r}, which makes the images in this "
                "process"
            )
        return executor

    def _recipe(self) -> tuple[Factory, LoadOptions]:
        _, adapter, factory, _ = self.resolved
        wrapped, mitigating = self._counting(adapter, factory()), self.mitigating()
        if mitigating is not None:
            compared_by = mitigating.named.encoder
            encoder = None
            if compared_by:
                factory_of_encoder, encoder_options = self._elsewhere("encoder", compared_by[0])
                encoder = partial(factory_of_encoder, encoder_options)
            wrapped = partial(load_mitigated, wrapped, mitigating.named, encoder)
        if self.settings.detect_where == "worker":
            if judges := [name for name in self.detector_names if name.startswith(JUDGE)]:
                raise ConfigurationError(
                    f"--t2i-detect-where worker: expected detectors without a judge, got "
                    f"{judges[0]}, whose answers are kept by this process: leave the option out"
                )
            detectors = {name: self._elsewhere("detector", name) for name in self.detector_names}
            wrapped = looking_factory(wrapped, detectors)
        return wrapped, self.defaults()

    def _elsewhere(self, kind: str, name: str) -> tuple[Factory, LoadOptions]:
        registry = self.registries.of(kind)
        base, weights = registry.named(name)
        options = self._part_options(base, weights)
        extra = {**options.extra, "catalogue": self.catalogue}
        return registry.get(base), replace(options, extra=extra)

    def model_batch(self) -> int | None:
        """The catalogue's batch size for the model; None where there is none."""
        return self.entry.batch if self.entry else None

    def defaults(self) -> LoadOptions:
        """The model's load options, with the catalogue's generation settings."""
        return self._with_settings(self.resolved.options)

    def detector(self, ref: DetectorRef) -> NamedComponent[Detector]:
        """A detector by name, or a detector of one attribute."""
        if ref not in self._detectors:
            self._detectors[ref] = (
                self._part("detector", ref.name) if ref.attribute is None else self._open_set(ref)
            )
        return self._detectors[ref]

    def encoder(self, name: str) -> NamedComponent[Encoder]:
        """An encoder by ``name``, ``name:weights`` or ``module:factory``."""
        if name not in self._encoders:
            self._encoders[name] = self._part("encoder", name)
        return self._encoders[name]

    def finder(self, name: str) -> NamedComponent[ObjectFinder]:
        """An object detector by ``name``, ``name:weights`` or ``module:factory``."""
        if name not in self._finders:
            self._finders[name] = self._part("object", name)
        return self._finders[name]

    @property
    def entry(self) -> ModelEntry | None:
        """The catalogue's entry of the model under test; None where it is no alias."""
        return self.catalogue.models.get(self.settings.model or "")

    @property
    def most_seed(self) -> int | None:
        """The largest seed that the model under test takes, as a catalogue states."""
        return self.entry.options.extra.get("most_seed") if self.entry else None

    @property
    def resolved(self) -> ResolvedModel:
        """The model under test by its name, resolved once; see ``model`` for errors."""
        name = self.settings.model or ""
        if self._resolved is None or self._resolved.name != name:
            adapter, factory, options = self._resolve(name)
            if arguments := self.settings.model_option:
                check_option(arguments, adapter)
                options = with_arguments(options, arguments, adapter)
            self._resolved = ResolvedModel(name, adapter, factory, options)
        return self._resolved

    def _resolve(self, name: str) -> tuple[str, Callable[[], Factory], LoadOptions]:
        models = self.registries.models
        if self.entry is not None:
            adapter = self.entry.adapter
            return adapter, partial(models.get, adapter), self.entry.options
        adapter, _, source = name.partition(":")
        if adapter in models:
            return adapter, partial(models.get, adapter), LoadOptions(source=source)
        diffusers = (PIPELINES, partial(models.get, PIPELINES))
        folder = user_path(name)
        if folder.is_dir():
            return *diffusers, LoadOptions(source=str(folder.absolute()))
        if source and adapter.replace(".", "").replace("_", "").isalnum():
            return name, partial(models.imported, name), LoadOptions(source=name)
        if name.count("/") == 1 and not name.startswith((".", "/", "~")):
            return *diffusers, LoadOptions(source=name)
        if name.startswith((".", "/", "~")):
            raise ConfigurationError(
                f"unknown model {name!r}: expected a folder written by save_pretrained, and there "
                "is no such folder. t2i list models lists the aliases."
            )
        raise UnknownNameError(
            "model",
            name,
            [*self.catalogue.models, *models.local],
            brought_by_companion("model", name)
            or hint_of_module(name)
            or "A hub id (owner/name), a folder that save_pretrained wrote, images:DIR, a service "
            "(openai:MODEL, fal:MODEL and others) and module:factory are accepted, too.",
        )

    def _open_set(self, ref: DetectorRef) -> NamedComponent[Detector]:
        base = self.detector(DetectorRef(ref.name))
        attribute = ref.attribute
        if attribute is None:
            raise ValueError(f"expected a reference with an attribute, got ref={ref!r}")

        def load() -> Detector:
            detector = base.get()
            if not isinstance(detector, OpenSet):
                raise ConfigurationError(
                    f"detector {ref.name!r} cannot detect the attribute {attribute.name!r}: it has "
                    "a fixed set of labels. Choose a detector of any attribute, such as clip."
                )
            return detector.for_attribute(attribute)

        fields = asdict(attribute)
        return NamedComponent(
            f"{ref.name} {attribute.name}",
            load,
            digest([base.identity, fields]) if base.identity else None,
            self.store,
            origin=base.origin,
            run_identity=digest([base.run_identity, fields]) if base.run_identity else None,
        )

    def _part(self, kind: str, name: str) -> NamedComponent[Any]:
        registry = self.registries.of(kind)
        base, weights = registry.named(name)
        options = self._part_options(base, weights)
        self._check_weights(kind, name, options.source, options.extra["weights"])
        origin = CodeOrigin(self.registries, {(kind, base)})
        identity, run_identity = self._identities(kind, base, options)
        # A part that a conftest.py registered may be used by a detector of an entry point.
        registries = self.registries.watched(origin.names)
        context = {"registries": registries, "catalogue": self.catalogue}
        load_options = replace(options, extra={**options.extra, **context})

        def load() -> Any:
            with asked_for(kind, base):
                if kind == "detector" and not weights:
                    check_weights(base)
                loaded = registry.get(base)(load_options)
            if isinstance(loaded, CountedPart):
                loaded.join(self.judge_run)
            return loaded

        return NamedComponent(
            name,
            load,
            identity,
            self.store,
            origin=origin,
            run_identity=run_identity,
        )

    def _part_options(self, base: str, weights: str) -> LoadOptions:
        source, parts = self.catalogue.resolve_part(base, weights)
        options = self._with_settings(LoadOptions(source=source, extra={"weights": parts}))
        # Detectors run in full precision on the CPU whatever the model's dtype.
        return replace(options, dtype="auto")

    def _check_weights(self, kind: str, name: str, source: str, parts: Mapping[str, str]) -> None:
        if name.startswith(OWN_NAMES):
            return
        looks_like_alias = source and not parts and "/" not in source and not Path(source).exists()
        brings = brought_by_companion("weights", source)
        is_name = source.isidentifier() or brings
        if looks_like_alias and source == name.partition(":")[2] and is_name:
            names = sorted({a for aliases in self.catalogue.weights.values() for a in aliases})
            raise UnknownNameError(
                f"weights for {kind} {name.partition(':')[0]!r}: alias",
                source,
                names,
                brings or "A hub id or a folder is accepted, too.",
            )

    def _with_settings(self, options: LoadOptions) -> LoadOptions:
        return replace(
            options,
            device=self.settings.device,
            dtype=self.settings.dtype if self.settings.dtype != "auto" else options.dtype,
            trust_remote_code=self.settings.trust_remote_code,
            answers=self.settings.answers,
        )

    def _identities(
        self, kind: str, name: str, options: LoadOptions
    ) -> tuple[str | None, str | None]:
        # The pictures do not depend on which GPU makes them.
        alike = replace(options, device=self.settings.device)
        code = self.registries.of(kind).code(name)
        return identities(kind, name, code, alike, self.run_id)
