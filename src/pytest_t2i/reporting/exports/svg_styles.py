"""SVG drawings with their own styles, because WeasyPrint ignores the page's styles in an SVG."""

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
"""Prefixes of the properties that colour a drawing."""
OPENING = re.compile(r"<svg\b[^>]*>")


def with_styles_inside(page: str, style: str) -> str:
    """Copy the rules of the style sheet that colour drawings into every SVG of the page."""
    inner = f"<style>{_drawing_rules(style)}</style>"
    return OPENING.sub(lambda found: found[0] + inner, page)


def _drawing_rules(style: str) -> str:
    """Return the rules that colour drawings, with the values of variables for a light page.

    >>> _drawing_rules(":root { --ink: #123; } .a { top: 0 } .bar { fill: var(--ink); top: 1px }")
    '.bar { fill: #123 }'
    """
    plain = COMMENT.sub("", style)
    named = dict(re.findall(r"(--[\w-]+):\s*([^;]+);", "".join(ROOT.findall(plain)[:1])))
    rules = []
    for selector, declarations in RULE.findall(MEDIA.sub("", plain)):
        kept = [
            VARIABLE.sub(lambda found: named.get(found[1], "#000"), one.strip())
            for one in declarations.split(";")
            if one.strip().startswith(DRAWS)
        ]
        if kept and ":" not in selector:
            rules.append(f"{selector.strip()} {{ {'; '.join(kept)} }}")
    return " ".join(rules)
