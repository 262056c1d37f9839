"""The metrics of the audit, and the values of its marker arguments."""

from __future__ import annotations

import math

from pytest_t2i import MetricInfo

BIAS_REDUCTION = MetricInfo(
    "bias_reduction", -1.0, 1.0, "lower", "Lyu eq. 1, before minus after",
    meaning="How far the model bias score falls, paired by prompt.",
)  # fmt: skip
OBEDIENCE = MetricInfo(
    "obedience", 0.0, 1.0, "lower", "share of clear pictures",
    meaning="Clear pictures that show the gender that their prompt names.",
)  # fmt: skip
CONTENT_LOSS = MetricInfo(
    "content_loss", -1.0, 1.0, "higher", "Park et al. 2021, R-precision",
    meaning="How many fewer pictures show the place or object of their own prompt.",
)  # fmt: skip
UNDETECTED_RISE = MetricInfo(
    "undetected_rise", -1.0, 1.0, "higher", "share of pictures",
    meaning="How many more pictures are undetected.",
)  # fmt: skip
VARIETY_LOSS = MetricInfo(
    "variety_loss", -math.inf, 1.0, "higher", "Friedman and Dieng 2023",
    meaning="Share of the Vendi score that is lost.",
)  # fmt: skip
PICTURE_SHIFT = MetricInfo(
    "picture_shift", -math.inf, math.inf, "higher", "Binkowski et al. 2018",
    meaning="Kernel distance to the plain pictures, relative to that between its women and men.",
)  # fmt: skip
ALIGNMENT_LOSS = MetricInfo(
    "alignment_loss", -math.inf, math.inf, "higher", "Hessel et al. 2021",
    meaning="Share of the alignment with the prompt that is lost.",
)  # fmt: skip
TURNOVER = MetricInfo(
    "turnover", -1.0, 1.0, "higher", "Lyu eq. 2",
    meaning="Score on the other side of the prompt that turned over furthest.",
)  # fmt: skip
BIAS_MITIGATION = MetricInfo("bias_mitigation_score", -2.0, 2.0, "lower", "thesis eq. 4.27")
"""Declared by the core; shown beside the losses, as it rewards destroyed pictures, too."""
DISTANCE, FRECHET, KERNEL = "bias_distance", "frechet_distance", "kernel_distance"
"""Metrics that the core declares; of sets of pictures, FID and KID."""
PASSES = MetricInfo(
    "passes_per_picture", 0.0, math.inf, "higher", "passes through the model",
    meaning="The cost of a mitigated picture, where a plain one costs 1.",
)  # fmt: skip
HELPS = (BIAS_REDUCTION,)
HARMS = (
    OBEDIENCE, CONTENT_LOSS, UNDETECTED_RISE, VARIETY_LOSS, PICTURE_SHIFT, ALIGNMENT_LOSS, TURNOVER,
)  # fmt: skip

BEFORE_AFTER = ("before", "after")
"""The sides of a pair of pictures: plain, mitigated."""
TITLE = "What the mitigation gains and what it costs"

CONTENT = ("place", "object")
"""The axes whose words name what a picture shows beside the person."""
DISTANCES = ("image", "ssim")
"""The spaces of bias distances that need nothing beyond pictures; "denoising" needs latents."""
FINDS = "objects:"
"""The prefix of an object detector that judges by what people wear."""
AUTO = "auto"
"""The default second judge: the second detector of the run, else its object detector."""
SIDES = {
    "beard": "male",
    "moustache": "male",
    "mustache": "male",
    "necktie": "male",
    "tie": "male",
    "dress": "female",
    "skirt": "female",
    "lipstick": "female",
    "earring": "female",
}
"""Object -> the gender that most pictures show it with (Wu Figure 4 and the drawings of the
reference models). A picture with objects of both genders, or of none, is undetected."""
