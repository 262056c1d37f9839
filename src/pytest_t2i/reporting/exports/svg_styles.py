"""Drawings with their colours inside: WeasyPrint draws an SVG without the styles of its page."""

from __future__ import annotations

import re

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
VARIABLE = re.compile(r"var\((--[\w-]+)(?:,[^)]*)?\)")
ROOT = re.compile(r"^:root\s*\{([^}]*)\}", re.MULTILINE)
MEDIA = re.compile(
    r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}|@page[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}"
)
DRAWS = ("fill", "stroke", "color")
"""Properties that begin like these colour a drawing."""
OPENING = re.compile(r"<svg\b[^>]*>")


def with_styles_inside(page: str, style: str) -> str:
    """The page with the rules of its style that colour drawings in each of its drawings."""
    inner = f"<style>{_drawing_rules(style)}</style>"
    return OPENING.sub(lambda found: found[0] + inner, page)


def _drawing_rules(style: str) -> str:
    """The rules that colour a drawing, with variables put in, as on white paper.

    >>> _drawing_rules(":root { --ink: #123; } .a { top: 0 } .bar { fill: var(--ink); top: 1px }")
    '.bar { fill: #123 }'
    """
    plain = COMMENT.sub("", style)
    named = dict(re.findall(r"(--[\w-]+):\s*([^;]+);", "".join(ROOT.findall(plain)[:1])))
    told = []
    for selector, declarations in RULE.findall(MEDIA.sub("", plain)):
        kept = [
            VARIABLE.sub(lambda found: named.get(found[1], "#000"), one.strip())
            for one in declarations.split(";")
            if one.strip().startswith(DRAWS)
        ]
        if kept and ":" not in selector:
            told.append(f"{selector.strip()} {{ {'; '.join(kept)} }}")
    return " ".join(told)
