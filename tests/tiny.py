"""Tiny randomly initialised models of the true classes, written as their makers write them.

Each function fills a folder with ``save_pretrained`` and returns it, so that a test reads it back
through the same loading code as weights from the hub. Nothing is downloaded.
"""

from __future__ import annotations

import atexit
import json
import shutil
import string
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    FluxPipeline,
    FluxTransformer2DModel,
    SD3Transformer2DModel,
    StableDiffusion3Pipeline,
    StableDiffusionPipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)
from tokenizers import AddedToken, pre_tokenizers
from transformers import (
    Blip2Config,
    Blip2ForConditionalGeneration,
    CLIPConfig,
    CLIPModel,
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    CLIPTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Tokenizer,
    T5Config,
    T5EncoderModel,
    T5TokenizerFast,
)

CHARACTERS = string.ascii_lowercase + string.digits + ",.'-"
TEXT_WIDTH = 16
IMAGE_SIZE = 32
"""Side in pixels of every picture that the tiny pipelines make by default."""


@dataclass(frozen=True, slots=True)
class Family:
    """One pipeline class that the adapter treats in its own way."""

    name: str
    write: Callable[..., Path]
    """Function (folder, seed) -> folder."""
    latent_channels: int


def clip_tokenizer() -> CLIPTokenizer:
    """A CLIP tokenizer whose tokens are characters; the end token has the highest id."""
    tokens = list(CHARACTERS) + [f"{c}</w>" for c in CHARACTERS]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    return CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=77)


def t5_tokenizer() -> T5TokenizerFast:
    """A T5 tokenizer whose tokens are characters."""
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    vocabulary += [(c, -3.0) for c in CHARACTERS]
    return T5TokenizerFast(vocab=vocabulary, extra_ids=0, model_max_length=64)


def clip_text_config(tokenizer: CLIPTokenizer) -> CLIPTextConfig:
    """Configuration of a two-layer text tower for this tokenizer."""
    return CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=TEXT_WIDTH,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        projection_dim=TEXT_WIDTH,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def autoencoder(latent_channels: int, **config: Any) -> AutoencoderKL:
    """A variational autoencoder that halves each side."""
    return AutoencoderKL(
        block_out_channels=(8, 16),
        norm_num_groups=4,
        in_channels=3,
        out_channels=3,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=latent_channels,
        **config,
    )


def unet(cross_attention_dim: int, **config: Any) -> UNet2DConditionModel:
    """A two-level UNet with 4 latent channels of 16 x 16."""
    return UNet2DConditionModel(
        block_out_channels=(8, 16),
        norm_num_groups=4,
        layers_per_block=1,
        sample_size=IMAGE_SIZE // 2,
        in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=cross_attention_dim,
        attention_head_dim=(2, 4),
        **config,
    )


def write_stable_diffusion(folder: Path, seed: int = 0) -> Path:
    """A StableDiffusionPipeline without a safety checker."""
    torch.manual_seed(seed)
    tokenizer = clip_tokenizer()
    pipeline = StableDiffusionPipeline(
        unet=unet(TEXT_WIDTH),
        scheduler=DDIMScheduler(clip_sample=False, set_alpha_to_one=False, steps_offset=1),
        vae=autoencoder(4),
        text_encoder=CLIPTextModel(clip_text_config(tokenizer)),
        tokenizer=tokenizer,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.save_pretrained(folder)
    return folder


def write_stable_diffusion_xl(folder: Path, seed: int = 0) -> Path:
    """A StableDiffusionXLPipeline with both text encoders."""
    torch.manual_seed(seed)
    tokenizer = clip_tokenizer()
    pipeline = StableDiffusionXLPipeline(
        unet=unet(
            2 * TEXT_WIDTH,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=6 * 8 + TEXT_WIDTH,
            use_linear_projection=True,
        ),
        scheduler=EulerDiscreteScheduler(beta_schedule="scaled_linear"),
        vae=autoencoder(4),
        text_encoder=CLIPTextModel(clip_text_config(tokenizer)),
        tokenizer=tokenizer,
        text_encoder_2=CLIPTextModelWithProjection(clip_text_config(tokenizer)),
        tokenizer_2=clip_tokenizer(),
    )
    pipeline.save_pretrained(folder)
    return folder


def t5_encoder(tokenizer: T5TokenizerFast) -> T5EncoderModel:
    """A two-layer T5 encoder for this tokenizer."""
    return T5EncoderModel(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=2 * TEXT_WIDTH,
            d_kv=8,
            d_ff=32,
            num_layers=2,
            num_heads=2,
        )
    )


def write_stable_diffusion_3(
    folder: Path, seed: int = 0, *, t5: bool = True, layers: int = 1, **config: Any
) -> Path:
    """A StableDiffusion3Pipeline; ``t5=False`` leaves its third text encoder out."""
    torch.manual_seed(seed)
    tokenizer, tokenizer_3 = clip_tokenizer(), t5_tokenizer()
    pipeline = StableDiffusion3Pipeline(
        transformer=SD3Transformer2DModel(
            sample_size=IMAGE_SIZE // 2,
            patch_size=2,
            in_channels=4,
            num_layers=layers,
            attention_head_dim=8,
            num_attention_heads=2,
            caption_projection_dim=16,
            joint_attention_dim=2 * TEXT_WIDTH,
            pooled_projection_dim=2 * TEXT_WIDTH,
            out_channels=4,
            **config,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(),
        vae=autoencoder(4, shift_factor=0.06, use_quant_conv=False, use_post_quant_conv=False),
        text_encoder=CLIPTextModelWithProjection(clip_text_config(tokenizer)),
        tokenizer=tokenizer,
        text_encoder_2=CLIPTextModelWithProjection(clip_text_config(tokenizer)),
        tokenizer_2=clip_tokenizer(),
        text_encoder_3=t5_encoder(tokenizer_3) if t5 else None,
        tokenizer_3=tokenizer_3 if t5 else None,
    )
    pipeline.save_pretrained(folder)
    return folder


def write_stable_diffusion_3_5(folder: Path, seed: int = 0) -> Path:
    """The same as SD3.5 has it: normed queries and keys, a second attention in early layers."""
    config = {"qk_norm": "rms_norm", "dual_attention_layers": (0, 1)}
    return write_stable_diffusion_3(folder, seed, layers=3, **config)


def write_flux(folder: Path, seed: int = 0, *, guidance_embeds: bool = False) -> Path:
    """A FluxPipeline: as schnell without, as dev with ``guidance_embeds``."""
    torch.manual_seed(seed)
    tokenizer, tokenizer_2 = clip_tokenizer(), t5_tokenizer()
    pipeline = FluxPipeline(
        transformer=FluxTransformer2DModel(
            patch_size=1,
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=2 * TEXT_WIDTH,
            pooled_projection_dim=TEXT_WIDTH,
            guidance_embeds=guidance_embeds,
            axes_dims_rope=(4, 4, 8),
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(),
        vae=autoencoder(4, shift_factor=0.06, use_quant_conv=False, use_post_quant_conv=False),
        text_encoder=CLIPTextModel(clip_text_config(tokenizer)),
        tokenizer=tokenizer,
        text_encoder_2=t5_encoder(tokenizer_2),
        tokenizer_2=tokenizer_2,
    )
    pipeline.save_pretrained(folder)
    return folder


FAMILIES = (
    Family("stable-diffusion", write_stable_diffusion, 4),
    Family("stable-diffusion-xl", write_stable_diffusion_xl, 4),
    Family("stable-diffusion-3", write_stable_diffusion_3, 4),
    Family("flux", write_flux, 4),
)


def write_clip(folder: Path, seed: int = 0) -> Path:
    """A CLIPModel with tokenizer and preprocessor for 32 x 32 pictures."""
    torch.manual_seed(seed)
    tokenizer = clip_tokenizer()
    text = clip_text_config(tokenizer)
    vision = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": IMAGE_SIZE,
        "patch_size": 8,
        "projection_dim": TEXT_WIDTH,
    }
    config = CLIPConfig(text_config=text.to_dict(), vision_config=vision, projection_dim=TEXT_WIDTH)
    CLIPModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    preprocessor = {
        "image_processor_type": "CLIPImageProcessor",
        "do_resize": True,
        "size": {"shortest_edge": IMAGE_SIZE},
        "do_center_crop": True,
        "crop_size": {"height": IMAGE_SIZE, "width": IMAGE_SIZE},
        "do_normalize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "resample": 3,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor))
    return folder


def write_open_clip(folder: Path, seed: int = 0) -> Path:
    """An open_clip CLIP in the layout that its hub repositories have."""
    import open_clip
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    model_config = {
        "embed_dim": TEXT_WIDTH,
        "vision_cfg": {
            "image_size": 32,
            "layers": 2,
            "width": 16,
            "patch_size": 8,
            "head_width": 8,
        },
        "text_cfg": {
            "context_length": 77,
            "vocab_size": 49408,
            "width": 16,
            "heads": 2,
            "layers": 2,
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    model = open_clip.CLIP(**model_config)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    described = {"model_cfg": model_config, "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.5] * 3}}
    (folder / "open_clip_config.json").write_text(json.dumps(described))
    return folder


def gpt2_tokenizer() -> GPT2Tokenizer:
    """A GPT-2 tokenizer, as OPT has it, whose tokens are bytes; with BLIP-2's image token."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate(["<pad>", "</s>", *alphabet])}
    special = {"bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"}
    tokenizer = GPT2Tokenizer(vocab=vocabulary, merges=[], add_bos_token=True, **special)
    tokenizer.add_tokens([AddedToken("<image>", normalized=False, special=True)])
    return tokenizer


CHAT = (
    "{% for message in messages %}{{ message['role'] }}: {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}\n"
    "{% endfor %}assistant: "
)
"""A chat template as instructed models have one."""


def write_llava(folder: Path, seed: int = 0) -> Path:
    """A LlavaForConditionalGeneration of one layer with its processor and chat template."""
    from transformers import (
        CLIPImageProcessor,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    torch.manual_seed(seed)
    tokenizer = gpt2_tokenizer()
    shape = {"intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {
        "model_type": "llama", "vocab_size": len(tokenizer), "hidden_size": 16, **shape,
        "num_key_value_heads": 2, "max_position_embeddings": 8192, "bos_token_id": 1,
        "eos_token_id": 1, "pad_token_id": 0,
    }  # fmt: skip
    vision = {"model_type": "clip_vision_model", "hidden_size": 16, "image_size": IMAGE_SIZE,
              "patch_size": 8, **shape}  # fmt: skip
    config = LlavaConfig(
        vision_config=vision, text_config=text, vision_feature_layer=-1,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )  # fmt: skip
    model = LlavaForConditionalGeneration(config)
    for name, weight in model.named_parameters():
        if "norm" not in name.lower():
            weight.data.normal_(0, 0.5)
    model.save_pretrained(folder)
    size = {"height": IMAGE_SIZE, "width": IMAGE_SIZE}
    processor = LlavaProcessor(
        CLIPImageProcessor(size=size, crop_size=size, do_center_crop=False), tokenizer,
        patch_size=8, vision_feature_select_strategy="default", chat_template=CHAT,
        num_additional_image_tokens=1,
    )  # fmt: skip
    processor.save_pretrained(folder)
    return folder


def write_blip2(folder: Path, seed: int = 0) -> Path:
    """A Blip2ForConditionalGeneration with an OPT of one layer, as its hub repository lies."""
    torch.manual_seed(seed)
    tokenizer = gpt2_tokenizer()
    shape = {"intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {
        "model_type": "opt",
        "vocab_size": len(tokenizer),
        "hidden_size": 16,
        "word_embed_proj_dim": 16,
        "ffn_dim": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "max_position_embeddings": 256,
        "bos_token_id": 1,
        "eos_token_id": 1,
        "pad_token_id": 0,
    }
    config = Blip2Config(
        vision_config={**shape, "hidden_size": 16, "image_size": 32, "patch_size": 8,
                       "initializer_range": 0.5},
        qformer_config={**shape, "hidden_size": 16, "encoder_hidden_size": 16, "vocab_size": 8,
                        "initializer_range": 0.5},
        text_config=text,
        num_query_tokens=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        initializer_range=0.5,
    )  # fmt: skip
    model = Blip2ForConditionalGeneration(config)
    # At the usual scale of random weights, what it says would not depend on what it sees.
    for name, weight in model.named_parameters():
        if "norm" not in name.lower():
            weight.data.normal_(0, 0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    preprocessor = {
        "image_processor_type": "BlipImageProcessor",
        "do_resize": True,
        "size": {"height": IMAGE_SIZE, "width": IMAGE_SIZE},
        "do_normalize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "resample": 3,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor))
    return folder


def write_timm_vit(folder: Path, seed: int = 0) -> Path:
    """A vision transformer of timm for 32 x 32 pictures, as DINO has it: no classifier."""
    return _save_timm(folder, seed, "vit_small_patch16_224.dino", img_size=32, patch_size=8,
                      embed_dim=16, depth=1, num_heads=2)  # fmt: skip


def write_timm_resnet(folder: Path, seed: int = 0) -> Path:
    """A ResNet of timm with five classes."""
    return _save_timm(folder, seed, "resnet18.tv_in1k", num_classes=5, layers=(1, 1, 1, 1))


def _save_timm(folder: Path, seed: int, name: str, **shape: Any) -> Path:
    import timm

    torch.manual_seed(seed)
    model = timm.create_model(name, pretrained=False, **shape)
    timm.models.save_for_hf(model, str(folder), model_args=shape)
    return folder


def write_causal(folder: Path, seed: int = 0, *, extra_tokens: int = 0) -> Path:
    """A causal language model of one layer whose tokens are bytes; more tokens do not fit it."""
    torch.manual_seed(seed)
    tokenizer = gpt2_tokenizer()
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=2048,
        n_embd=16,
        n_layer=1,
        n_head=2,
        bos_token_id=1,
        eos_token_id=1,
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.add_tokens([f"<more{k}>" for k in range(extra_tokens)])
    tokenizer.save_pretrained(folder)
    return folder


YOLO = """
nc: {count}
names: {names}
backbone:
  - [-1, 1, Conv, [8, 3, 2]]
  - [-1, 1, Conv, [16, 3, 2]]
  - [-1, 1, Conv, [16, 3, 2]]
head:
  - [[1, 2], 1, Detect, [nc]]
"""


def write_yolo(folder: Path, seed: int = 0, *, names: tuple[str, ...] = ("dog", "person")) -> Path:
    """A YOLOv8 detection model of three convolutions, as a checkpoint of ultralytics: yolo.pt."""
    import yaml

    from pytest_t2i.adapters.finders.ultralytics_guard import ultralytics

    ultralytics()
    from ultralytics.nn.tasks import DetectionModel

    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    described = yaml.safe_load(YOLO.format(count=len(names), names=list(names)))
    model = DetectionModel(described, verbose=False)
    model.names = dict(enumerate(names))
    model.args = {"imgsz": 64, "task": "detect"}
    torch.save({"model": model.half(), "train_args": model.args}, folder / "yolo.pt")
    return folder


def write_fairface(folder: Path, seed: int = 0) -> Path:
    """FairFace's ResNet-34 with random weights, as its authors publish it: a pickled state dict."""
    import timm

    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "res34_fair_align_multi_7_20190809.pt"
    torch.save(timm.create_model("resnet34", num_classes=18).state_dict(), path)
    return path


MIVOLO_CODE = """
from dataclasses import dataclass
from typing import Optional
import numpy as np
import torch
from transformers import BaseImageProcessor, BatchFeature, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import ModelOutput

class TinyConfig(PretrainedConfig):
    model_type = "tiny_mivolo"
    gender_id2label = {0: "male", 1: "female"}

@dataclass
class TinyOutput(ModelOutput):
    raw_gender_output: Optional[torch.FloatTensor] = None

class TinyForImageClassification(PreTrainedModel):
    config_class = TinyConfig
    def __init__(self, config):
        super().__init__(config)
        self.mivolo = torch.nn.Linear(6, 3)
        self.post_init()
    def forward(self, faces_input=None, body_input=None):
        both = torch.cat((faces_input, body_input), dim=1)
        return TinyOutput(raw_gender_output=self.mivolo(both.mean((2, 3)))[:, :2])

class TinyProcessor(BaseImageProcessor):
    model_input_names = ["pixel_values"]
    def __call__(self, images, **kwargs):
        rows = [np.zeros((3, 8, 8)) if image is None else
                np.broadcast_to(image.mean((0, 1))[::-1, None, None] / 255, (3, 8, 8))
                for image in images]
        return BatchFeature({"pixel_values": torch.tensor(np.stack(rows), dtype=torch.float32)})
"""
"""What the hub repository of MiVOLO brings, in small: configuration, network and processor."""


def write_mivolo(folder: Path, seed: int = 0) -> Path:
    """A network that brings code of its own, as MiVOLO's hub repository does, with its YOLO."""
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    write_yolo(folder, seed, names=("person", "face"))
    (folder / "yolo.pt").rename(folder / "yolov8x_person_face.pt")
    (folder / "tiny_mivolo.py").write_text(MIVOLO_CODE)
    linear = torch.nn.Linear(6, 3)
    weights = {f"mivolo.{name}": weight.detach() for name, weight in linear.named_parameters()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    classes = {
        "AutoConfig": "tiny_mivolo.TinyConfig",
        "AutoModelForImageClassification": "tiny_mivolo.TinyForImageClassification",
    }
    config = {"model_type": "tiny_mivolo", "auto_map": classes, "torch_dtype": "float16"}
    (folder / "config.json").write_text(json.dumps(config))
    processor = {
        "image_processor_type": "TinyProcessor",
        "auto_map": {"AutoImageProcessor": "tiny_mivolo.TinyProcessor"},
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder


@cache
def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="t2i-tiny-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


@cache
def written(write: Callable[..., Path], seed: int = 0, **config: Any) -> Path:
    """The folder that one of the functions above fills; filled once in a process."""
    named = "-".join(f"{key}={value}" for key, value in config.items())
    return write(_root() / f"{write.__name__}-{seed}-{named}", seed, **config)


WORDS = ("hat", "tie", "cup", "baseball", "bat", "person", "tree")


def bert_tokenizer() -> Any:
    """A BERT tokenizer of a few words, as GroundingDINO has it."""
    from transformers import BertTokenizer

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", *WORDS]
    return BertTokenizer(vocab={token: number for number, token in enumerate(tokens)})


def write_grounding_dino(folder: Path, seed: int = 0) -> Path:
    """A GroundingDinoForObjectDetection with a Swin and a BERT of one layer a stage."""
    from transformers import (
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessorPil,
        GroundingDinoProcessor,
        SwinConfig,
    )

    torch.manual_seed(seed)
    tokenizer = bert_tokenizer()
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = GroundingDinoConfig(
        backbone_config=SwinConfig(
            image_size=64, window_size=2, embed_dim=8, depths=[1, 1, 1, 1],
            num_heads=[1, 1, 1, 1], out_features=["stage2", "stage3", "stage4"],
        ),
        text_config={**small, "model_type": "bert", "intermediate_size": 32,
                     "vocab_size": len(tokenizer), "max_position_embeddings": 256},
        d_model=32, encoder_layers=1, decoder_layers=2, encoder_ffn_dim=32, decoder_ffn_dim=32,
        encoder_attention_heads=2, decoder_attention_heads=2, num_queries=6,
        encoder_n_points=2, decoder_n_points=2, max_text_len=64,
    )  # fmt: skip
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    images = GroundingDinoImageProcessorPil(size={"shortest_edge": 128, "longest_edge": 192})
    GroundingDinoProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def write_sam(folder: Path, seed: int = 0) -> Path:
    """A SamModel of one layer for 64 x 64 pictures."""
    from transformers import SamConfig, SamImageProcessorPil, SamModel, SamProcessor

    torch.manual_seed(seed)
    vision = {
        "hidden_size": 16, "output_channels": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "image_size": 64, "patch_size": 16, "mlp_dim": 32,
        "window_size": 2, "global_attn_indexes": [0], "num_pos_feats": 8,
    }  # fmt: skip
    prompts = {"hidden_size": 16, "image_size": 64, "patch_size": 16, "mask_input_channels": 4}
    decoder = {
        "hidden_size": 16, "mlp_dim": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "iou_head_hidden_dim": 16,
    }  # fmt: skip
    config = SamConfig(
        vision_config=vision, prompt_encoder_config=prompts, mask_decoder_config=decoder
    )
    SamModel(config).save_pretrained(folder)
    size, padded = {"longest_edge": 64}, {"height": 64, "width": 64}
    SamProcessor(SamImageProcessorPil(size=size, pad_size=padded)).save_pretrained(folder)
    return folder


def write_florence(folder: Path, seed: int = 0) -> Path:
    """A Florence2ForConditionalGeneration of one layer a stage for 64 x 64 pictures."""
    from transformers import (
        BartTokenizer,
        CLIPImageProcessorPil,
        Florence2Config,
        Florence2ForConditionalGeneration,
        Florence2Processor,
    )

    torch.manual_seed(seed)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    places = [f"<loc_{place}>" for place in range(1000)]
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    vocabulary = {token: index for index, token in enumerate([*special.values(), *alphabet])}
    tokenizer = BartTokenizer(
        vocab=vocabulary, merges=[], **special, extra_special_tokens={"image_token": "<image>"}
    )
    tokenizer.add_tokens([AddedToken(place, normalized=False) for place in places])
    shape = {
        f"{part}_{what}": size
        for part in ("encoder", "decoder")
        for what, size in {"layers": 1, "attention_heads": 2, "ffn_dim": 32}.items()
    }
    config = Florence2Config(
        text_config={"model_type": "bart", "vocab_size": len(tokenizer), "d_model": 16, **shape},
        vision_config={
            "depths": (1, 1, 1, 1), "embed_dim": (8, 8, 16, 16), "num_heads": (2, 2, 2, 2),
            "num_groups": (2, 2, 2, 2), "window_size": 4, "projection_dim": 16,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )  # fmt: skip
    Florence2ForConditionalGeneration(config).save_pretrained(folder)
    images = CLIPImageProcessorPil(
        size={"height": 64, "width": 64}, do_center_crop=False, image_seq_length=5
    )
    parsed: dict[str, Any] = {"description_with_bboxes": {}}
    Florence2Processor(images, tokenizer, post_processor_config=parsed).save_pretrained(folder)
    return folder


def write_vocabulary(folder: Path, seed: int = 0) -> Path:
    """Names to look for, one a line: names.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "names.txt").write_text("\n".join(WORDS[seed:]))
    return folder


def write_qwen2_vl(folder: Path, seed: int = 0) -> Path:
    """A Qwen2VLForConditionalGeneration of one layer, whose pictures may have any size."""
    from transformers import (
        PreTrainedTokenizerFast,
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        Qwen2VLImageProcessor,
        Qwen2VLProcessor,
        Qwen2VLVideoProcessor,
    )

    torch.manual_seed(seed)
    plain = gpt2_tokenizer()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain.backend_tokenizer, bos_token="</s>", eos_token="</s>",
        unk_token="</s>", pad_token="<pad>",
    )  # fmt: skip
    names = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": names})
    start, end, image, video = tokenizer.convert_tokens_to_ids(names)
    text = {
        "vocab_size": len(tokenizer), "hidden_size": 16, "intermediate_size": 32,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
        "max_position_embeddings": 8192, "bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0,
        "rope_parameters": {"type": "mrope", "rope_type": "default", "mrope_section": [2, 1, 1],
                            "rope_theta": 10000.0},
    }  # fmt: skip
    vision = {"depth": 1, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "patch_size": 8,
              "mlp_ratio": 2}  # fmt: skip
    config = Qwen2VLConfig(
        text_config=text, vision_config=vision, image_token_id=image, video_token_id=video,
        vision_start_token_id=start, vision_end_token_id=end,
    )  # fmt: skip
    model = Qwen2VLForConditionalGeneration(config)
    for name, weight in model.named_parameters():
        if "norm" not in name.lower():
            weight.data.normal_(0, 0.5)
    model.save_pretrained(folder)
    size = {"shortest_edge": 256, "longest_edge": 4096}
    shape = {"patch_size": 8, "size": size}
    template = CHAT.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>")
    processor = Qwen2VLProcessor(
        Qwen2VLImageProcessor(**shape), tokenizer, Qwen2VLVideoProcessor(**shape),
        chat_template=template,
    )  # fmt: skip
    processor.save_pretrained(folder)
    return folder
