"""Any diffusers text-to-image pipeline as a model under test.

Image k depends on request k alone: its noise comes from a generator of its own on the CPU, its
text is encoded alone, and on the CPU the arithmetic is arranged so that the rows of a batch do
not feel each other (see ``pipelines.settle``).

Over 300 lines: texts, noise, steps and what is watched of them meet in one pass of the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy, deepcopy
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.models.attention import Sums, observed, word_maps
from pytest_t2i.adapters.models.model_index import read_index
from pytest_t2i.adapters.models.pipeline_arguments import Calls
from pytest_t2i.adapters.models.pipelines import (
    load_pipeline,
    parts_elsewhere,
    pipeline_folder,
    settle,
)
from pytest_t2i.adapters.models.processor import check_processor
from pytest_t2i.adapters.models.prompt_embeddings import TextBank, family_of
from pytest_t2i.adapters.models.replaced_parts import Parts, pipeline_digest
from pytest_t2i.adapters.models.velocity import WATCHED, VelocityWatch, alike, decoded, kind_of
from pytest_t2i.adapters.support.devices import dtype_name, memory_guard, pick_device, pick_dtype
from pytest_t2i.adapters.support.digests import file_digest, folder_digest
from pytest_t2i.adapters.support.loading import hub_commit, needs
from pytest_t2i.data import (
    ALL_VELOCITIES,
    ATTENTION,
    FINAL_LATENT,
    FORESEEN,
    TEXT_EMBEDDING,
    VELOCITY,
    Generated,
    GenerationSettings,
    Request,
    Trace,
    digest,
    spi_name,
)
from pytest_t2i.errors import ConfigurationError, GenerationError, T2IError
from pytest_t2i.protocols import LoadOptions

with needs("the diffusers adapter", "diffusers"):
    import diffusers
    import torch
    import transformers

if TYPE_CHECKING:
    import numpy as np


def load(options: LoadOptions) -> DiffusersModel:
    """Load a pipeline from the hub or a local folder.

    Args:
        options: ``source`` is a hub id or a folder. ``extra`` may hold ``variant`` (file variant
            such as "fp16"), ``scheduler`` (class name in diffusers), ``call`` (further arguments
            of the pipeline's ``__call__``), ``parts`` (name of a part -> folder or hub id that it
            is taken from), ``changes`` (safetensors file whose tensors replace those of the same
            names) and ``cpu_offload``.

    Raises:
        ModelLoadError: the weights are absent, gated, damaged or not safetensors.
        ConfigurationError: no such device, dtype or scheduler, or code that was not allowed.
        OutOfDeviceMemoryError: the pipeline does not fit into memory.
    """
    if not options.source:
        raise ConfigurationError("the diffusers adapter needs a hub id or a folder.")
    device = pick_device(options.device)
    folder = pipeline_folder(options)
    parts = parts_elsewhere(folder, options)
    dtype = pick_dtype(options.dtype, device, _half(folder))
    check_processor(device, dtype)
    pipeline = load_pipeline(folder, parts, options, dtype, device)
    settle(pipeline, device)
    facts = _weights(folder, parts, options) | _facts(pipeline, options, device, dtype)
    return DiffusersModel(pipeline, device, options, facts)


def model_in_memory(pipeline: Any, options: LoadOptions, fingerprint: str) -> DiffusersModel:
    """A pipeline that somebody has loaded; it stays where and as it is.

    ``fingerprint`` stands for its weights.
    """
    device, dtype = torch.device(pipeline.device), pipeline.dtype
    facts = {"weights": fingerprint} | _facts(pipeline, options, device, dtype)
    return DiffusersModel(pipeline, device, options, facts)


def _half(folder: Path) -> torch.dtype:
    # FLUX was trained in bfloat16, and its T5 encoder overflows in float16.
    name = str(read_index(folder)["_class_name"])
    return torch.bfloat16 if name.startswith("Flux") else torch.float16


def _weights(folder: Path, parts: Parts, options: LoadOptions) -> dict[str, str]:
    """What stands for the weights; a pipeline read from disk is the same wherever its parts lie."""
    commit = hub_commit(folder)
    if not commit:
        facts = {"weights": f"sha256:{pipeline_digest(folder, parts)}"}
    else:
        facts = {"weights": f"{options.source}@{commit}"}
        facts |= {f"part {name}": f"sha256:{folder_digest(at)}" for name, at in parts.items()}
    if changes := options.extra.get("changes"):
        facts["changes"] = f"sha256:{file_digest(Path(changes).expanduser())}"
    return facts


def _facts(
    pipeline: Any, options: LoadOptions, device: torch.device, dtype: torch.dtype
) -> dict[str, str]:
    """Everything besides weights that changes the pictures, readable."""
    scheduler = {k: v for k, v in pipeline.scheduler.config.items() if not k.startswith("_")}
    asked = {k: v for k, v in asdict(options.defaults).items() if v is not None}
    extra = {k: options.extra[k] for k in ("variant", "call") if options.extra.get(k)}
    return {
        "pipeline": type(pipeline).__name__,
        "scheduler": type(pipeline.scheduler).__name__,
        "scheduler_config": f"sha256:{digest(_plain(scheduler))}",
        "dtype": dtype_name(dtype),
        "device": device.type,
        "defaults": ", ".join(f"{k}={v}" for k, v in sorted(asked.items())),
        "extra": ", ".join(f"{k}={v}" for k, v in sorted(extra.items())),
        "torch": torch.__version__.partition("+")[0],
        "diffusers": diffusers.__version__,
        "transformers": transformers.__version__,
    }


def _plain(config: Mapping[str, Any]) -> dict[str, str]:
    return {key: repr(value) for key, value in config.items()}


@dataclass(slots=True)
class _LastLatent:
    """A callback_on_step_end that keeps the latents of the last step."""

    value: torch.Tensor | None = None

    def __call__(
        self, pipeline: Any, step: int, timestep: Any, tensors: dict[str, Any]
    ) -> dict[str, Any]:
        del pipeline, step, timestep
        self.value = tensors["latents"]
        return {}


class DiffusersModel:
    """A loaded pipeline; obeys TextToImage and TextEmbedding."""

    def __init__(
        self, pipeline: Any, device: torch.device, options: LoadOptions, facts: dict[str, str]
    ) -> None:
        self.pipeline = pipeline
        """The diffusers pipeline itself, for engines and audits that look inside."""
        self.device = device
        self._options = options
        self._facts = facts
        self._family = family_of(pipeline)
        self._calls = Calls(pipeline, self._family, options.extra.get("call", {}))
        self._texts = (
            TextBank(pipeline, self._family, device, self._calls.further) if self._family else None
        )

    def lanes(self, most: int) -> list[DiffusersModel]:
        """One for each thread, all with the same weights and a scheduler of their own.

        A GPU makes one batch at a time, beside a thread that keeps and shows pictures; a single
        core does nothing beside another thing.
        """
        if self.device.type != "cpu":
            return [self]
        return [self, *(self._twin() for _ in range(most - 1))] if most > 1 else []

    def needs_all(self, request: Request) -> bool:
        """Whether the network itself is watched, which others use at the same time."""
        return not request.observe <= {TEXT_EMBEDDING, FINAL_LATENT}

    def stop(self) -> None:
        """End the batch that another thread makes after its present step."""
        self.pipeline._interrupt = True  # noqa: SLF001 - what diffusers has for this

    def _twin(self) -> DiffusersModel:
        pipeline = copy(self.pipeline)
        pipeline.scheduler = deepcopy(self.pipeline.scheduler)
        twin = DiffusersModel(pipeline, self.device, self._options, self._facts)
        twin._texts = self._texts
        return twin

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the weights, pipeline class, scheduler, dtype, device type and libraries."""
        return digest(self._facts)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable, and where the weights came from."""
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"
        known = {key: value for key, value in self._facts.items() if value}
        return {"source": self._options.source, **known, "device_name": name}

    def resolve(self, settings: GenerationSettings) -> GenerationSettings:
        """The settings with what they leave open filled in from the catalogue's defaults."""
        own = {f.name: getattr(settings, f.name) for f in fields(settings)}
        return replace(
            self._options.defaults, **{name: v for name, v in own.items() if v is not None}
        )

    def embed_text(self, prompts: Sequence[str]) -> list[np.ndarray]:
        """Text encoder output per prompt, each [n_tokens, d] float32 without padding tokens.

        Raises:
            ConfigurationError: this pipeline class does not show its text embeddings.
        """
        if self._texts is None:
            raise ConfigurationError(
                f"text embeddings of a {type(self.pipeline).__name__} cannot be observed."
            )
        with memory_guard("encoding text"):
            return [self._texts.embedding(prompt) for prompt in prompts]

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """Make one picture per request, in order.

        Requests with different settings are made in one go per setting, and those whose velocities
        are asked for apart from others: extra passes are made for these alone.

        Raises:
            ConfigurationError: the pipeline does not take a setting that was asked for.
            OutOfDeviceMemoryError: the batch does not fit; a smaller one may.
            GenerationError: the pipeline failed.
        """
        made: dict[int, Generated] = {}
        for (settings, *_), places in alike(requests).items():
            group = [requests[place] for place in places]
            made.update(zip(places, self._make(group, self.resolve(settings)), strict=True))
        return [made[place] for place in range(len(requests))]

    def _make(self, group: Sequence[Request], settings: GenerationSettings) -> Iterator[Generated]:
        call = self._calls.arguments(settings)
        # A lone picture goes through other convolution kernels than one of several.
        alone = len(group) == 1 and self.device.type == "cpu" and not self._calls.doubles(call)
        batch = list(group) * 2 if alone else list(group)
        last = _LastLatent()
        names = {name for request in group for name in request.observe}
        if FINAL_LATENT in names:
            self._calls.require("callback_on_step_end", "the final latent cannot be observed")
            call["callback_on_step_end"] = last
        watch = self._watch(group, len(batch), names)
        looking = watch.looking() if watch else nullcontext()
        with observed(self.pipeline if ATTENTION in names else None, len(batch)) as sums, looking:
            output = self._run(batch, settings, call)
        maps = self._word_maps(sums, batch, output.images[0].size)
        latents = self._unpacked(last.value, settings)
        flags = getattr(output, "nsfw_content_detected", None) or [False] * len(batch)
        for place, request in enumerate(group):
            trace = Trace(
                text_embedding=self._embedding_for(request),
                final_latent=None
                if latents is None or FINAL_LATENT not in request.observe
                else latents[place].float().cpu().numpy(),
                attention=maps[place] if maps and ATTENTION in request.observe else None,
                **(self._seen(watch, request, place, settings) if watch else {}),
            )
            refusal = "the safety checker blackened the picture" if flags[place] else None
            yield Generated(output.images[place].convert("RGB"), trace, refusal)

    def _word_maps(
        self, sums: Sums | None, batch: Sequence[Request], size: tuple[int, int]
    ) -> list[np.ndarray]:
        """Attention to the words of each prompt; [] where it was not asked for or is not shown."""
        if sums is None or not sums.by_size or self._family is None:
            return []
        prompts = [request.prompt for request in batch]
        return word_maps(sums, self.pipeline, self._family, prompts, size)

    def _watch(
        self, group: Sequence[Request], images: int, observed: set[str]
    ) -> VelocityWatch | None:
        """What looks on while the batch is made; None where nobody asks for it."""
        if not observed & WATCHED:
            return None
        if self._texts is None:
            raise ConfigurationError(
                f"velocities of a {type(self.pipeline).__name__} cannot be observed."
            )
        kind_of(self.pipeline)
        return VelocityWatch(
            self.pipeline,
            self._texts,
            images,
            group[0].attributes if VELOCITY in observed else (),
            FORESEEN in observed,
            ALL_VELOCITIES in observed,
        )

    def _seen(
        self, watch: VelocityWatch, request: Request, place: int, settings: GenerationSettings
    ) -> dict[str, Any]:
        """What was seen of one image, as fields of its trace."""
        seen: dict[str, Any] = {}
        if VELOCITY in request.observe:
            seen["spi"] = {spi_name(a): watch.spi(a, place) for a in request.attributes}
        if ALL_VELOCITIES in request.observe:
            seen["velocities"] = watch.stacked("velocities", place).numpy()
        if FORESEEN in request.observe:
            latents = self._unpacked(watch.stacked("foreseen", place), settings)
            seen["foreseen"] = tuple(decoded(self.pipeline, latents))
        return seen

    def _embedding_for(self, request: Request) -> np.ndarray | None:
        return self.embed_text([request.prompt])[0] if TEXT_EMBEDDING in request.observe else None

    def _run(self, batch: list[Request], settings: GenerationSettings, call: dict[str, Any]) -> Any:
        generators = [torch.Generator("cpu").manual_seed(request.seed) for request in batch]
        prompts = [request.prompt for request in batch]
        try:
            with memory_guard(f"making {len(batch)} pictures"), torch.no_grad():
                text = self._text_arguments(prompts, settings.negative_prompt)
                return self.pipeline(**call, **text, generator=generators, output_type="pil")
        except T2IError:
            raise
        except ValueError as error:
            raise ConfigurationError(
                f"{type(self.pipeline).__name__} cannot work with these settings: {error}"
            ) from error
        except Exception as error:
            raise GenerationError(
                f"{type(self.pipeline).__name__} failed on a batch of {len(batch)} "
                f"(first prompt {prompts[0]!r}): {type(error).__name__}: {error}"
            ) from error

    def _text_arguments(self, prompts: list[str], negative: str | None) -> dict[str, Any]:
        if self._texts is not None:
            return {**self._texts.arguments(prompts, negative)}
        unwanted = {} if negative is None else {"negative_prompt": [negative] * len(prompts)}
        return {"prompt": prompts, **unwanted}

    def _unpacked(
        self, latents: torch.Tensor | None, settings: GenerationSettings
    ) -> torch.Tensor | None:
        """[batch, channels, height, width]; FLUX works on 2 x 2 patches in a sequence."""
        is_packed = hasattr(self.pipeline, "_unpack_latents")
        if latents is None or latents.ndim == len("bchw") or not is_packed:
            return latents
        scale = self.pipeline.vae_scale_factor
        default = self.pipeline.default_sample_size * scale
        unpacked: torch.Tensor = self.pipeline._unpack_latents(  # noqa: SLF001
            latents, settings.height or default, settings.width or default, scale
        )
        return unpacked
