"""A file that is not what was expected is named by its first bytes."""

from __future__ import annotations

import pytest

from pytest_t2i.adapters.picture_files import picture_in
from pytest_t2i.read_files import content_of

LFS = "a Git LFS pointer (`git lfs pull` fetches the file)"
ANNEX = "a git-annex pointer (`git annex get` fetches the file)"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "an empty file"),
        (b"\xff\x0a\0\0jxl", "JPEG XL"),
        (b"\0\0\0\x0cJXL \r\n\x87\n....", "JPEG XL"),
        (b"\0\0\0\x18ftypheic", "HEIC"),
        (b"8BPS\0\1", "PSD"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "EPS"),
        (b"%PDF-1.7", "PDF"),
        (b"\xef\xbb\xbf<!DOCTYPE html><html><svg></svg></html>", "a web page"),
        (b"\n<html lang='en'>", "a web page"),
        (b'<?xml version="1.0"?>\n<!-- drawn -->\n<svg width="8"/>', "SVG"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "SVG"),
        (b"<Error><Code>AccessDenied</Code></Error>", "XML"),
        (b'{"error": {"code": 401}}', "JSON"),
        (b"[]", "JSON"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n",
            LFS,
        ),
        (
            b"/annex/objects/SHA256E-s3--ab.png\n",
            ANNEX,
        ),
        (b"iVBORw0KGgoAAAANSUhEUg", "a picture in base64"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml", "an Excel workbook (.xlsx)"),
        (b"PK\x03\x04" + bytes(26) + b"xl/workbook.xml", "an Excel workbook (.xlsx)"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an Excel workbook (.xls)"),
        (
            b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            "an OpenDocument spreadsheet (.ods)",
        ),
        (b"PAR1\x15\x04", "a Parquet file"),
        (b"ARROW1\0\0", "an Arrow file"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\0\0\0\x20ftypisom", "a video"),
        (b"\x89PNG\r\n\x1a\n\0", "PNG that cannot be decoded"),
        (b"\xff\xd8\xff\xe0", "JPEG that cannot be decoded"),
        ("ein Löwe".encode("latin-1"), "a text"),
        (b"\x01\x02\x03", ""),
    ],
)
def test_a_file_is_named_by_its_first_bytes(tmp_path, content, name):
    assert picture_in(content) is None
    assert content_of(content).name == name
    (tmp_path / "a.png").write_bytes(content)
    assert content_of(tmp_path / "a.png") == content_of(content)
