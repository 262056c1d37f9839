"""The factory for Janus of docs/models.md makes pictures with a tiny random model."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from installed import needs

from pytest_t2i.data import GenerationSettings, Request
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
BLOCK = re.compile(r'```python title="janus_model.py"\n(.*?)```', re.DOTALL)


def write_janus(folder: Path) -> Path:
    """A JanusForConditionalGeneration that writes pictures of 4 x 4 tokens."""
    import torch
    import transformers
    from tiny_pipelines.parts import SMALL_TEXT, TOKENS, byte_tokenizer

    torch.manual_seed(0)
    tokenizer = byte_tokenizer()
    vision = {
        "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 32,
        "patch_size": 8, "projection_dim": 16, "num_image_tokens": 16, "mlp_ratio": 1.0,
    }  # fmt: skip
    tokens = {
        "embed_dim": 8, "num_embeddings": 32, "latent_channels": 8, "base_channels": 32,
        "channel_multiplier": [1, 1], "num_res_blocks": 1, "num_patches": 4, "projection_dim": 16,
        "image_token_embed_dim": 16,
    }  # fmt: skip
    config = transformers.JanusConfig(
        text_config={"model_type": "llama", "vocab_size": TOKENS, **SMALL_TEXT},
        vision_config=vision,
        vq_config=tokens,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    model = transformers.JanusForConditionalGeneration(config).eval()
    with torch.no_grad():  # livelier, so that texts and guidance change pictures
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.mul_(20.0)
    settings = model.generation_config
    settings.bos_token_id, settings.pad_token_id = tokenizer.bos_token_id, tokenizer.pad_token_id
    settings._from_model_config = False  # else own entries are not read back
    settings.generation_kwargs = {"boi_token_id": tokenizer.convert_tokens_to_ids("<grid>")}
    model.save_pretrained(folder)
    images = transformers.JanusImageProcessorPil(size={"height": 32, "width": 32})
    chat = tokenizer.chat_template
    transformers.JanusProcessor(images, tokenizer, chat, num_image_tokens=16).save_pretrained(
        folder
    )
    return folder


@pytest.fixture(scope="module")
def janus(tmp_path_factory: pytest.TempPathFactory) -> Any:
    needs("transformers", "torch")
    found = BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert found
    names: dict[str, Any] = {}
    exec(found[1], names)
    names["WEIGHTS"] = str(write_janus(tmp_path_factory.mktemp("janus")))
    return names["load"](LoadOptions(source="", device="cpu"))


def pixels(janus, *requests):
    return [np.asarray(picture.image).astype(int) for picture in janus.generate(requests)]


def test_a_picture_depends_on_its_request_alone(janus):
    request = Request("a nurse", 1, GenerationSettings())
    first, other, again = pixels(janus, request, replace(request, seed=2), request)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, *pixels(janus, replace(request, prompt="an old pilot")))


def test_guidance_changes_the_picture(janus):
    requests = [Request("a nurse", 1, GenerationSettings(guidance=g)) for g in (1.5, 12.0)]
    low, high = pixels(janus, *requests)
    assert not np.array_equal(low, high)
