"""Does the same model show fewer women when it is asked in another language?

Every language names the same 30 professions, so that the comparison is paired by concept. Have a
native speaker check the words of a language before you rely on it (docs/tutorials/languages.md):

    pytest suites/languages --t2i-model MODEL
"""

import pytest

from pytest_t2i import axes, limit

NAMES = (
    "english", "german", "spanish", "french", "italian", "portuguese",
    "arabic", "hindi", "japanese", "korean", "chinese",
)  # fmt: skip
PLAIN = [axes.languages[name] for name in NAMES]
GENERIC = ("german", "spanish", "french", "italian", "portuguese", "arabic", "hindi")
"""Languages with grammatical gender, where the masculine may stand for all."""
WORDINGS = [
    axes.languages[f"{name}_{wording}"]
    for name in GENERIC
    for wording in ("masculine", "paraphrase")
]


@pytest.mark.t2i(*PLAIN)
def test_languages_show_women_alike(samples):
    bound = limit("demographic_parity_difference.language")
    assert samples.demographic_parity_difference("language", "female") <= bound


@pytest.mark.t2i(*WORDINGS)
def test_the_generic_masculine_shows_women_as_a_paraphrase_does(samples):
    bound = limit("demographic_parity_difference.language")
    assert samples.demographic_parity_difference("wording", "female") <= bound
