"""Joint attention of an MM-DiT in which one picture attends to two others (eq. 4.14 to 4.19).

The rows of a pass are the masculine pictures, the pictures being made, and the feminine pictures.
Before or after attention, the rows being made are interpolated between the other two. The second
attention of SD3.5, of picture to picture alone, is treated in the same way. Keys are taken after
their norm, where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from diffusers.models.attention_processor import JointAttnProcessor2_0
from pytest_t2i import T2IError
from torch.nn.functional import scaled_dot_product_attention

Where = Literal["pre", "post"]
"""Where to interpolate: keys and values before attention, or its result after attention."""
Ends = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
"""The keys and values of the masculine, then the feminine pictures: [n, heads, length, d]."""


@dataclass(slots=True)
class Pass:
    """The state of one pass of the network, for the attention processors."""

    weights: torch.Tensor | None = None
    """The weights of the pictures being made, [n]; None for a pass of endpoints alone."""
    made: slice = field(default_factory=lambda: slice(0))
    """The rows of the pictures being made."""
    masculine: slice = field(default_factory=lambda: slice(0))
    feminine: slice = field(default_factory=lambda: slice(0))
    """The rows of the endpoints, where the pass has them."""
    kept: dict[str, Ends] | None = None
    """Layer -> keys and values of the endpoints; read where pictures are made, else written."""


@dataclass(slots=True)
class Control:
    """The switch that turns the processors of a pipeline on for a pass."""

    where: Where
    now: Pass | None = None

    @contextmanager
    def during(self, this: Pass) -> Iterator[None]:
        """Turn the processors on in this context."""
        self.now = this
        try:
            yield
        finally:
            self.now = None


@dataclass(slots=True)
class Interpolating:
    """A wrapper of a processor of joint attention, which interpolates during a pass."""

    inner: Any
    layer: str
    control: Control

    # diffusers passes a processor only the arguments that its signature names.
    def __call__(
        self,
        attn: Any,
        hidden_states: torch.Tensor,
        encoder_hidden_states: torch.Tensor | None = None,
        *rest: Any,
        **named: Any,
    ) -> Any:
        """Return the result of the pipeline's processor, with some rows interpolated."""
        now = self.control.now
        if now is None:
            return self.inner(attn, hidden_states, encoder_hidden_states, *rest, **named)
        query, key, value = projected(attn, hidden_states, encoder_hidden_states)
        ends = self._ends(now, key, value)
        if now.weights is None:
            seen = scaled_dot_product_attention(query, key, value)
        else:
            weights = now.weights.to(key.dtype)[:, None, None, None]
            seen = attended(query, key, value, ends, now.made, weights, self.control.where)
        return returned(attn, seen, hidden_states.shape[1], encoder_hidden_states is not None)

    def _ends(self, now: Pass, key: torch.Tensor, value: torch.Tensor) -> Ends:
        if now.kept is not None and now.weights is not None:
            return now.kept[self.layer]
        m, f = now.masculine, now.feminine
        ends = (key[m], value[m], key[f], value[f])
        if now.kept is not None:
            now.kept[self.layer] = ends
        return ends


def attended(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    ends: Ends,
    made: slice,
    weights: torch.Tensor,
    where: Where,
) -> torch.Tensor:
    """Return the attention of all rows, [rows, heads, length, d], interpolated for ``made``.

    ``torch.lerp`` is exact at weights 0 and 1, and where both endpoints are equal.
    """
    key_m, value_m, key_f, value_f = ends
    key, value = key.clone(), value.clone()
    if where == "pre":
        key[made] = torch.lerp(key_m, key_f, weights)  # eq. 4.14, 4.16
        value[made] = torch.lerp(value_m, value_f, weights)  # eq. 4.15, 4.17
        return scaled_dot_product_attention(query, key, value)  # eq. 4.18
    key[made], value[made] = key_m, value_m
    seen = scaled_dot_product_attention(query, key, value)
    of_feminine = scaled_dot_product_attention(query[made], key_f, value_f)
    seen[made] = torch.lerp(seen[made], of_feminine, weights)  # eq. 4.19, m at weight 0
    return seen


def projected(
    attn: Any, places: torch.Tensor, texts: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return queries, keys and values of picture and text (eq. 4.4 to 4.6), the picture first."""
    parts = (
        (attn.to_q, attn.norm_q, "add_q_proj", "norm_added_q"),
        (attn.to_k, attn.norm_k, "add_k_proj", "norm_added_k"),
        (attn.to_v, None, "add_v_proj", ""),
    )
    made = []
    for of_picture, norm, of_text, added_norm in parts:
        whole = _heads(attn, of_picture(places), norm)
        if texts is not None:
            normed = getattr(attn, added_norm) if added_norm else None
            whole = torch.cat([whole, _heads(attn, getattr(attn, of_text)(texts), normed)], dim=2)
        made.append(whole)
    query, key, value = made
    return query, key, value


def returned(attn: Any, seen: torch.Tensor, places: int, has_text: bool) -> Any:
    """Return the processor's result: of the picture, and of the text where there is one."""
    whole = seen.transpose(1, 2).flatten(2)
    of_picture = attn.to_out[1](attn.to_out[0](whole[:, :places]))
    if not has_text:
        return of_picture
    of_text = whole[:, places:]
    return of_picture, of_text if attn.context_pre_only else attn.to_add_out(of_text)


def _heads(attn: Any, x: torch.Tensor, norm: Any) -> torch.Tensor:
    split = x.unflatten(-1, (attn.heads, -1)).transpose(1, 2)
    return split if norm is None else norm(split)


@contextmanager
def interpolating(network: Any, control: Control) -> Iterator[None]:
    """Replace the attention processors of a transformer in this context."""
    before: Mapping[str, Any] = dict(network.attn_processors)
    for layer, processor in before.items():
        if type(processor) is not JointAttnProcessor2_0:
            raise T2IError(
                f"attention can be interpolated for JointAttnProcessor2_0 only, but {layer} is a "
                f"{type(processor).__name__}"
            )
    network.set_attn_processor({k: Interpolating(v, k, control) for k, v in before.items()})
    try:
        yield
    finally:
        network.set_attn_processor(dict(before))
