"""The mitigation of a run: the variation under which each prompt's pictures are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pytest_t2i.adapters.mitigations import NamedMitigation
from pytest_t2i.data import ATTENTION, PLAIN, TEXT_EMBEDDING, Prompt, Triplet, Variant, Variation
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.prompts.added_words import counterparts, names_gender


@dataclass(slots=True)
class Mitigating:
    """A run's mitigation, applied to prompts."""

    named: NamedMitigation
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Text -> its feminine and masculine counterparts; () for a text that names a gender."""
    _variations: dict[str, Variation | None] = field(default_factory=dict)

    def learn(self, triplets: Iterable[Triplet]) -> None:
        """Add the counterparts in triplets; the first triplet with a text counts."""
        for neutral, feminine, masculine in triplets:
            self.known.setdefault(neutral.text, (feminine.text, masculine.text))
            self.known.setdefault(feminine.text, ())
            self.known.setdefault(masculine.text, ())

    def adopt(self, known: Mapping[str, Iterable[str]]) -> None:
        """Add the counterparts that another process of the run knows."""
        self.known |= {text: tuple(texts) for text, texts in known.items()}

    def variation(self, prompt: Prompt) -> Variation | None:
        """The variation of a prompt's pictures; None for a prompt that names a gender."""
        if prompt.text not in self._variations:
            self._variations[prompt.text] = self._variation(prompt)
        return self._variations[prompt.text]

    def made_from(self, prompt: Prompt, seeds: Iterable[int]) -> set[str]:
        variation = self.variation(prompt)
        if variation is None:
            return {prompt.text}
        return {self.named.made_from(prompt.text, seed, variation.texts) for seed in seeds}

    @property
    def notes(self) -> list[str]:
        """A note on the number of prompts that the mitigation leaves unchanged."""
        passing = sum(variation is None for variation in self._variations.values())
        if not passing:
            return []
        if passing == 1:
            return ["1 prompt names a gender and is left unchanged by the mitigation"]
        return [f"{passing} prompts name a gender and are left unchanged by the mitigation"]

    def unseen(self, observe: Iterable[str]) -> list[str]:
        """Notes on requested traces that are not those of the mitigated pictures."""
        name, notes = self.named.asked, []
        if ATTENTION in observe and self.named.hides_attention:
            notes.append(
                f"attention is not observed: with the mitigation {name} attention is not to the "
                "words of the prompt"
            )
        if TEXT_EMBEDDING in observe:
            notes.append(f"prompt space shows the prompts as written, without mitigation {name}")
        return notes

    def _variation(self, prompt: Prompt) -> Variation | None:
        if prompt.wordings:
            raise ConfigurationError(
                f"mitigation {self.named.asked!r}: expected prompts of one wording, got "
                f"{prompt.text!r}, which draws one for each picture. Give its axis one template, "
                "or deselect its tests with -k"
            )
        texts = self._counterparts(prompt)
        if texts == ():
            return None
        if not self.named.mitigation.needs_counterparts:
            return self.named.variation(())
        if texts is None:
            raise ConfigurationError(
                f"mitigation {self.named.asked!r} needs the feminine and the masculine counterpart "
                f"of each prompt, and {prompt.text!r} has none: write it with person or people, "
                "give its triplet, or deselect its tests with -k"
            )
        return self.named.variation(texts)

    def _counterparts(self, prompt: Prompt) -> tuple[str, ...] | None:
        """Counterparts of a prompt: () for a text that names a gender, None where none is known."""
        if prompt.text not in self.known:
            is_gendered = prompt.variant is not Variant.NEUTRAL or names_gender(prompt.text)
            texts = () if is_gendered else counterparts(prompt)
            if texts is None:
                return None
            self.known[prompt.text] = texts
        return self.known[prompt.text]


def varied(
    mitigating: Mitigating | None, prompt: Prompt, asked: Variation | None
) -> Variation | None:
    """The variation of a prompt's pictures: that of the need, else that of the run's mitigation."""
    if asked == PLAIN:
        return None
    if mitigating is None or (asked is not None and asked.name):
        return asked
    of_run = mitigating.variation(prompt)
    if of_run is None or asked is None:
        return of_run or asked
    return replace(of_run, settings=asked.settings)
