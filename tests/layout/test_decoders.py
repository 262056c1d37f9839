"""Nothing lets Pillow guess a file's format: it starts Ghostscript for a file of EPS."""

from __future__ import annotations

import ast

from layout import source

ROOTS = (source.SOURCE, *source.REPOSITORY.glob("plugins/*/src"))
OTHERS = {"imread", "imdecode", "decode_image", "read_image", "Parser"}
"""Functions of other libraries, and of Pillow, that open pictures of any format."""


def names_of_pillow(tree):
    """Names by which a file calls Pillow's module Image."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "PIL"
        for alias in node.names
        if alias.name == "Image"
    }


def guessing(tree):
    """Lines that open a picture without a named list of formats."""
    pillow = names_of_pillow(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "PIL.Image":
            yield from (node.lineno for alias in node.names if alias.name == "open")
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        called = node.func
        formats = [key.value for key in node.keywords if key.arg == "formats"]
        opens = called.attr == "open" and ast.unparse(called.value) in {*pillow, "PIL.Image"}
        if called.attr in OTHERS or (opens and not any(isinstance(v, ast.Name) for v in formats)):
            yield node.lineno


def test_every_decoder_names_the_formats_that_it_takes():
    files = [path for root in ROOTS for path in sorted(root.rglob("*.py"))]
    found = {str(path.relative_to(source.REPOSITORY)): [*guessing(source.tree(path))]
             for path in files}  # fmt: skip
    assert {path: lines for path, lines in found.items() if lines} == {}
    assert any(names_of_pillow(source.tree(path)) for path in files)


def test_what_guesses_is_found():
    text = "from PIL import Image as I\nI.open(f)\nI.open(f, formats=['PNG'])\nI.open(f, formats=P)"
    assert [*guessing(ast.parse(text))] == [2, 3]
    assert [*guessing(ast.parse("from PIL.Image import open"))] == [1]
    assert [*guessing(ast.parse("import PIL.Image\nPIL.Image.open(f)\ncv2.imread(f)"))] == [2, 3]
