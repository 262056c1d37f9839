"""What people state of a report is read from pyproject.toml, and nothing else is."""

from __future__ import annotations

import pytest

from pytest_t2i.cli.main import main
from pytest_t2i.errors import FileFormatError
from pytest_t2i.runs.record.statement import BLANK, Statement, read_statement


@pytest.fixture
def project(tmp_path):
    file = tmp_path / "pyproject.toml"

    def write(text):
        file.write_text(text)
        return file

    return write


def test_without_a_file_or_a_table_all_is_blank(tmp_path, project):
    assert read_statement(tmp_path / "absent.toml") == Statement()
    assert read_statement(project("[tool.ruff]\n")) == Statement()
    assert {text for _, text in Statement().rows()} == {BLANK}


def test_what_is_filled_in_is_shown_and_the_rest_is_blank(project):
    file = project('[tool.t2i.report]\nauditor = "A.\\n  Auditor"\napprover = "B"\n')
    rows = dict(read_statement(file).rows())
    assert (rows["Auditor"], rows["Approver"], rows["Population"]) == ("A. Auditor", "B", BLANK)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool.t2i.report]\nauditer = 'A'", "unknown key 'auditer'. Did you mean 'auditor'?"),
        ("[tool.t2i.report]\nauditor = ['A']", "expected a text as 'auditor'"),
        ("[tool.t2i]\nreport = 'A'", "expected a table, got 'A'"),
    ],
)
def test_what_cannot_be_used_is_one_line(project, text, told):
    with pytest.raises(FileFormatError) as error:
        read_statement(project(text))
    assert told in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert "[tool.t2i.report]" in str(error.value)


def test_init_writes_blank_fields(tmp_path):
    assert main(["init", str(tmp_path), "--words", "nurse"]) == 0
    assert "[tool.t2i.report]" in (tmp_path / "pyproject.toml").read_text()
    assert read_statement(tmp_path / "pyproject.toml") == Statement()
