"""What was measured, as Markdown tables in the README."""

from __future__ import annotations

from training.settings import PLUGIN

START_MARK = "<!-- results: written by python -m training report -->"
END_MARK = "<!-- end of results -->"


def write_into_readme(tables: str) -> None:
    """Replace what stands between the two marks."""
    readme = PLUGIN / "README.md"
    before, rest = readme.read_text(encoding="utf-8").split(START_MARK)
    after = rest.split(END_MARK)[1]
    readme.write_text(f"{before}{START_MARK}\n{tables}{END_MARK}{after}", encoding="utf-8")


def as_markdown(found: dict[str, dict[str, object]]) -> str:
    """Two tables: numbers, and traits."""
    names = list(found)
    first = found[names[0]]
    rows = [key for key, value in first.items() if not isinstance(value, dict)]
    lines = ["| measured | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    lines += [f"| {row} | " + " | ".join(str(found[name][row]) for name in names) + " |" for row in rows]
    lines += [
        "",
        "| nationality | trait | " + " | ".join(f"{name}: planted | measured" for name in names) + " |",
    ]
    lines.append("|---|---|" + "---:|---:|" * len(names))
    traits: dict[str, dict[str, dict[str, float]]] = first["traits"]  # type: ignore[assignment]
    for nationality, shares in traits.items():
        for trait in shares:
            cells = [found[name]["traits"][nationality][trait] for name in names]  # type: ignore[index]
            numbers = " | ".join(f"{cell['planted']:.3f} | {cell['measured']:.3f}" for cell in cells)
            lines.append(f"| {nationality} | {trait} | {numbers} |")
    return "\n".join(lines + _guidance_table(found)) + "\n"


def drawings_as_markdown(drawn: dict[str, object]) -> str:
    """Numbers, and the accuracies of the CLIP model beside each other."""
    lines = ["| drawings | |", "|---|---:|"]
    lines += [f"| {name} | {value} |" for name, value in drawn.items() if not isinstance(value, dict)]
    gaps: dict[str, float] = drawn["neutrality gap of texts"]  # type: ignore[assignment]
    lines += [f"| cos(neutral, masculine) - cos(neutral, feminine), {space} | {gap} |" for space, gap in gaps.items()]
    columns = ("CLIP accuracy on drawings", "CLIP accuracy on restored drawings")
    first, second = (drawn[column] for column in columns)
    lines += ["", "| CLIP is asked about | drawings | restored by the autoencoder |", "|---|---:|---:|"]
    lines += [f"| {name} | {value} | {second[name]} |" for name, value in first.items()]  # type: ignore[attr-defined,index]
    return "\n".join(lines) + "\n"


def combinations_as_markdown(found: dict[str, dict[str, object]]) -> str:
    """Planted intersections with their words alone, then the errors of all other combinations."""
    names = list(found)
    lines = ["| prompt | images | " + " | ".join(f"{name}: men planted | measured" for name in names) + " |"]
    lines.append("|---|---:|" + "---:|---:|" * len(names))
    first = found[names[0]]
    for part in ("planted", "alone"):
        for prompt in first[part]:  # type: ignore[attr-defined]
            cells = [found[name][part][prompt] for name in names]  # type: ignore[index]
            numbers = " | ".join(f"{cell['planted']:.3f} | {cell['measured']:.3f}" for cell in cells)
            lines.append(f"| {prompt} | {first['images per prompt']} | {numbers} |")
    lines += ["", "| pipeline | combinations | prompts | images per prompt | mean absolute error | of that sampling |"]
    lines[-1] += " men | men planted |"
    lines.append("|---|---|" + "---:|" * 6)
    for name in names:
        for part in ("triples that name a planted pair", "all other pairs"):
            cells = " | ".join(f"{value:g}" for value in found[name][part].values())  # type: ignore[attr-defined,assignment]
            lines.append(f"| {name} | {part} | {cells} |")
    return "\n".join(lines) + "\n"


def objects_as_markdown(found: dict[str, dict[str, object]]) -> str:
    """Planted objects and places by variant, with their bias scores, beside what is seen; in brackets intervals."""
    names = list(found)
    first = found[names[0]]
    about = f"{first['prompts']} words, {first['images per prompt']} images of each variant"
    lines = [f"| {about} | in | " + " | ".join(f"{name}: planted | measured" for name in names) + " |"]
    lines.append("|---|---|" + "---:|---:|" * len(names))
    for part in ("objects", "words with an object of their own", "places"):
        for thing, rows in first.get(part, {}).items():  # type: ignore[attr-defined]
            for row in rows:
                cells = [found[name][part][thing][row] for name in names]  # type: ignore[index]
                shown = " | ".join(f"{_known(cell['planted'])} | {_with_interval(cell['measured'])}" for cell in cells)
                lines.append(f"| {thing} | {row} | {shown} |")
    return "\n".join(lines) + "\n"


def attention_as_markdown(found: dict[str, dict[str, dict[str, object]]]) -> str:
    """A line for each pipeline and word."""
    columns = ("pictures with the object", "covers more than by chance", "covered", "by chance")
    lines = ["| attention of | word | " + " | ".join(columns) + " |", "|---|---|" + "---:|" * len(columns)]
    for name, words in found.items():
        for word, row in words.items():
            share: list[float] | None = row["share"]  # type: ignore[assignment]
            shown = "none" if share is None else "{:.2f} [{:.2f}, {:.2f}]".format(*share)
            lines.append(f"| {name} | {word} | {row[columns[0]]} | {shown} | {row['covered']} | {row['by chance']} |")
    return "\n".join(lines) + "\n"


def _known(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _with_interval(measured: list[float] | None) -> str:
    return "none" if measured is None else "{:.3f} [{:.3f}, {:.3f}]".format(*measured)


def steps_as_markdown(found: dict[str, dict[str, object]]) -> str:
    """Samplers beside the one that the denoisers were trained for."""
    lines: list[str] = []
    for name, samplers in found.items():
        rows = {sampler: numbers for sampler, numbers in samplers.items() if isinstance(numbers, dict)}
        columns = list(next(iter(rows.values())))
        lines = lines or ["| pipeline | sampler | images | " + " | ".join(columns) + " |", "|---|---|" + "---:|" * 5]
        for sampler, numbers in rows.items():
            cells = " | ".join(f"{numbers[column]:g}" for column in columns)
            lines.append(f"| {name} | {sampler} | {samplers['images']} | {cells} |")
    return "\n".join(lines) + "\n"


def _guidance_table(found: dict[str, dict[str, object]]) -> list[str]:
    lines = [
        "",
        "| pipeline | guidance | images per word | mean absolute error | of that sampling | men | men planted |",
    ]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    if not any(result["by guidance"] for result in found.values()):
        return []
    for name, result in found.items():
        others: dict[str, dict[str, float]] = result["by guidance"]  # type: ignore[assignment]
        for guidance, numbers in others.items():
            cells = " | ".join(f"{value:g}" for value in numbers.values())
            lines.append(f"| {name} | {guidance} | {cells} |")
    return lines
