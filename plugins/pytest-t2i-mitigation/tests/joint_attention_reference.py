"""The velocities of three strategies, written from the equations for one picture of each kind.

Attention is written out: eq. 4.4 to 4.6 and the joint softmax, then 4.11 to 4.19. What stands
around it in a block (AdaLN, gates, feed-forward) is called from the network.
"""

from __future__ import annotations

import torch

KINDS = ("m", "n", "f")


def velocities(network, latents, tokens, pooled, at, weight, where):
    """What the network predicts for m, n and f; each argument is a dict of one row by kind."""
    n_text = {k: network.context_embedder(tokens[k]) for k in KINDS}
    image = {k: network.pos_embed(latents[k]) for k in KINDS}
    emb = {k: network.time_text_embed(at.expand(1), pooled[k]) for k in KINDS}
    for block in network.transformer_blocks:
        normed = {k: block.norm1(image[k], emb=emb[k]) for k in KINDS}
        if block.context_pre_only:
            told = {k: (block.norm1_context(n_text[k], emb[k]),) for k in KINDS}
        else:
            told = {k: block.norm1_context(n_text[k], emb=emb[k]) for k in KINDS}
        seen = attention(block.attn, {k: (normed[k][0], told[k][0]) for k in KINDS}, weight, where)
        second = {}
        if block.use_dual_attention:
            second = attention(block.attn2, {k: (normed[k][5],) for k in KINDS}, weight, where)
        for k in KINDS:
            _, gate, shift, scale, gate_ff = normed[k][:5]
            image[k] = image[k] + gate[:, None] * seen[k][0]
            if second:
                image[k] = image[k] + normed[k][6][:, None] * second[k][0]
            inner = block.norm2(image[k]) * (1 + scale[:, None]) + shift[:, None]
            image[k] = image[k] + gate_ff[:, None] * block.ff(inner)
            if not block.context_pre_only:
                _, gate, shift, scale, gate_ff = told[k]
                n_text[k] = n_text[k] + gate[:, None] * seen[k][1]
                inner = block.norm2_context(n_text[k]) * (1 + scale[:, None]) + shift[:, None]
                n_text[k] = n_text[k] + gate_ff[:, None] * block.ff_context(inner)
    return {k: unpatched(network, network.norm_out(image[k], emb[k]), latents[k]) for k in KINDS}


def attention(attn, told, weight, where):
    """What a picture and its text see, by kind: eq. 4.18 or 4.19 for n, 4.9 and 4.10 beside."""
    q, k, v = ({kind: joint(attn, which, *told[kind]) for kind in KINDS} for which in "qkv")
    seen = {kind: softmax(q[kind], k[kind], v[kind]) for kind in KINDS}
    if where == "pre":
        key, value = ((1 - weight) * x["m"] + weight * x["f"] for x in (k, v))
        seen["n"] = softmax(q["n"], key, value)
    if where == "post":
        of_m, of_f = (softmax(q["n"], k[kind], v[kind]) for kind in "mf")
        seen["n"] = (1 - weight) * of_m + weight * of_f
    places = told["n"][0].shape[1]
    made = {}
    for kind in KINDS:
        flat = seen[kind].permute(0, 2, 1, 3).flatten(2)
        of_text = flat[:, places:]
        text = of_text if attn.context_pre_only in {None, True} else attn.to_add_out(of_text)
        made[kind] = (attn.to_out[0](flat[:, :places]), text)
    return made


def joint(attn, which, image, text=None):
    """Queries, keys or values of picture and text, [1, heads, length, d]."""
    parts = [(getattr(attn, f"to_{which}")(image), getattr(attn, f"norm_{which}", None))]
    if text is not None:
        norm = getattr(attn, f"norm_added_{which}", None)
        parts.append((getattr(attn, f"add_{which}_proj")(text), norm))
    heads = [x.reshape(1, x.shape[1], attn.heads, -1).transpose(1, 2) for x, _ in parts]
    return torch.cat([h if n is None else n(h) for h, (_, n) in zip(heads, parts, strict=True)], 2)


def softmax(q, k, v):
    """softmax(Q K^T / sqrt(d)) V over all keys at once."""
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v


def unpatched(network, x, like):
    """Patches laid out as a latent."""
    p, channels = network.config.patch_size, network.out_channels
    height, width = like.shape[-2] // p, like.shape[-1] // p
    x = network.proj_out(x).reshape(1, height, width, p, p, channels)
    return torch.einsum("nhwpqc->nchpwq", x).reshape(1, channels, height * p, width * p)
