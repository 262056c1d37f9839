"""A tiny random RAM in the layout of its authors' files, with what only training needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WINDOW, WIDTH, INSIDE, LABEL, LAYERS = 2, 16, 32, 8, 2
"""Sizes of windows, of the tagging head, within its layers, of a tag's embedding; layers."""
HEADS = (1, 2, 2, 4)
DEPTHS = (2, 2, 2, 2)
EMBED = 8


def encoder(seed: int = 0) -> Any:
    """The encoder of the tiny network, as timm builds it."""
    import torch
    from timm.models.swin_transformer import SwinTransformer

    torch.manual_seed(seed)
    made = SwinTransformer(
        img_size=32 * WINDOW, patch_size=4, embed_dim=EMBED, depths=DEPTHS, num_heads=HEADS,
        window_size=WINDOW, num_classes=0,
    )  # fmt: skip
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return made.eval()


def tensors(tags: int, seed: int = 0) -> dict[str, Any]:
    """All tensors of a file."""
    import torch

    made = {f"visual_encoder.{_of_before(k)}": v for k, v in encoder(seed).state_dict().items()}
    made["visual_encoder.layers.0.blocks.1.attn_mask"] = torch.zeros(1)
    index = torch.zeros(4, 4, dtype=torch.long)
    made["visual_encoder.layers.0.blocks.0.attn.relative_position_index"] = index
    wide = EMBED * 2 ** (len(DEPTHS) - 1)
    lines = {"image_proj": (LABEL, wide), "wordvec_proj": (WIDTH, LABEL), "fc": (1, WIDTH)}
    for number in range(LAYERS):
        layer = f"tagging_head.encoder.layer.{number}."
        lines |= {
            f"{layer}crossattention.self.query": (WIDTH, WIDTH),
            f"{layer}crossattention.self.key": (WIDTH, LABEL),
            f"{layer}crossattention.self.value": (WIDTH, LABEL),
            f"{layer}crossattention.output.dense": (WIDTH, WIDTH),
            f"{layer}intermediate.dense": (INSIDE, WIDTH),
            f"{layer}output.dense": (WIDTH, INSIDE),
        }
        for norm in ("crossattention.output", "output"):
            made[f"{layer}{norm}.LayerNorm.weight"] = 1 + 0.2 * torch.randn(WIDTH)
            made[f"{layer}{norm}.LayerNorm.bias"] = 0.2 * torch.randn(WIDTH)
    for name, shape in lines.items():
        made[f"{name}.weight"], made[f"{name}.bias"] = torch.randn(shape), torch.randn(shape[0])
    made["label_embed"] = torch.randn(tags, LABEL)
    made["text_decoder.cls.predictions.bias"] = torch.zeros(3)
    return made


def _of_before(name: str) -> str:
    """The name that the first code had: a stage ends with what timm begins the next one with."""
    found = re.match(r"layers\.(\d+)\.downsample(.*)", name)
    return f"layers.{int(found[1]) - 1}.downsample{found[2]}" if found else name


def write(
    folder: Path, tags: Sequence[str], limits: Sequence[float] | None = None, seed: int = 0
) -> Path:
    """The folder, filled."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    torch.save({"model": tensors(len(tags), seed)}, folder / "ram_swin_large_14m.pth")
    (folder / "ram_tag_list.txt").write_text("\n".join(tags) + "\n", encoding="utf-8")
    if limits is not None:
        said = "\n".join(map(str, limits))
        (folder / "ram_tag_list_threshold.txt").write_text(said, encoding="utf-8")
    return folder
