"""What Label Studio exports becomes labels, or is refused with task and value."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PIL import Image
from pytest_t2i import FileFormatError, labels
from pytest_t2i.cli.main import main
from pytest_t2i.labels import Label

from pytest_t2i_labelling.label_studio.read import read_export

GENDER = labels.named("gender")


def task(image, *answers, **data):
    return {
        "id": 7,
        "data": {"image": image, **data},
        "annotations": [
            {"completed_by": who, "result": [{"value": {"choices": [choice]}}]}
            for who, choice in answers
        ],
    }


def test_label_studio_export(tmp_path):
    export = tmp_path / "export.json"
    tasks = [
        task("/data/local-files/?d=a%20b.png", (1, "male"), ({"email": "bo@x"}, "Low quality")),
        task("/data/upload/3/0a1b2c3d-c.png", (1, "others"), prompt="a person", model="sdxl"),
    ]
    tasks[0]["annotations"].append({"was_cancelled": True, "result": []})
    export.write_text(json.dumps(tasks))
    assert read_export(export, GENDER) == [
        Label("a b.png", "male", "1"),
        Label("a b.png", "low_quality", "bo@x"),
        Label("c.png", "others", "1", "", "a person", "sdxl"),
    ]
    for name in ("a b.png", "c.png"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    result = labels.load_labelled_set(export)
    assert [entry.label for entry in result] == ["unsettled", "others"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[", "line 1 column 2: is not valid JSON"),
        ("{}", "expected a list, got {}. Expected a Label Studio export"),
        ("[{}]", "[0]: no key 'data'."),
        ('[{"data": {}}]', "[0].data: no key 'image'."),
        (json.dumps([task("a.png", (1, "boy"))]), "label must be one of"),
        (
            json.dumps([{"data": {"image": "a"}, "annotations": [{"result": []}]}]),
            "none of its annotations (1) has a choice",
        ),
    ],
)
def test_malformed_label_studio_exports(tmp_path, content, says):
    export = tmp_path / "export.json"
    export.write_text(content)
    with pytest.raises(FileFormatError) as error:
        read_export(export, GENDER)
    assert says in str(error.value)


@pytest.mark.parametrize("name", ["../secret.png", "/etc/hostname", "a/../../secret.png"])
def test_an_export_names_files_below_its_folder(tmp_path, name):
    export = tmp_path / "export.json"
    for image in (f"/data/local-files/?d={name}", name):
        export.write_text(json.dumps([task(image, (1, "male"))]))
        if image.startswith("/etc"):  # an address of the server, whose file lies in the folder
            assert read_export(export, GENDER)[0].file == "etc/hostname"
            continue
        with pytest.raises(FileFormatError, match=r"\[0\] task 7: file must be a path below"):
            read_export(export, GENDER)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"annotations": {}}, "expected a list, got [0].annotations={}"),
        ({"annotations": [3]}, "expected a table, got [0].annotations[0]=3"),
        ({"annotations": [{"result": "x"}]}, "expected a list, got [0].annotations[0].result='x'"),
        (
            {"annotations": [{"result": [{"value": []}]}]},
            "got [0].annotations[0].result[0].value=[]",
        ),
        (
            {"annotations": [{"result": [{"value": {"choices": [3]}}]}]},
            "expected a text, got [0].annotations[0].result[0].value.choices[0]=3",
        ),
        ({"annotations": [{"completed_by": [1]}]}, "got [0].annotations[0].completed_by=[1]"),
        ({"data": {"image": "a.png", "prompt": {}}}, "got [0].data.prompt={}"),
        ({"data": {"image": "http://[x"}}, "Invalid IPv6 URL"),
        ({"data": 3}, "expected a table, got [0].data=3"),
    ],
)
def test_wrong_types_in_an_export_are_named_by_key(tmp_path, change, says):
    export = tmp_path / "export.json"
    export.write_text(json.dumps([task("a.png", (1, "male")) | change]))
    with pytest.raises(FileFormatError) as error:
        read_export(export, GENDER)
    assert says in str(error.value)


@pytest.mark.parametrize("split", [True, False])
def test_two_choices_are_no_label(tmp_path, split):
    chosen = [["male"], ["female"]] if split else [["male", "female"]]
    result = [{"value": {"choices": choices}} for choices in chosen]
    task = {"data": {"image": "a.png"}, "annotations": [{"result": result}]}
    file = tmp_path / "export.json"
    file.write_text(json.dumps([task]))
    with pytest.raises(FileFormatError, match="expected one choice in an annotation, got 'male'"):
        read_export(file, GENDER)


def test_a_detector_is_evaluated_by_an_export(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    export = tmp_path / "export.json"
    for name, shade in (("a.png", 10), ("b.png", 200)):
        Image.new("RGB", (8, 8), (shade, 90, 90)).save(tmp_path / name)
    said = (("ada", "male"), ("bo", "male"))
    export.write_text(json.dumps([task("a.png", *said), task("b.png", ("ada", "female"))]))
    assert main(["detector", "check", f"people:{export}", "--labels", str(export)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "ada and bo: 1 of 1 images alike, no kappa" in told
    assert f"--t2i-labels {export} --t2i-detector" in told


def two_questions(names=("who", "tone"), tones=("light", "dark")):
    """Two tasks; each annotation answers both questions."""
    return [
        {
            "id": place,
            "data": {"image": f"{place}.png"},
            "annotations": [
                {
                    "completed_by": 1,
                    "result": [
                        {"from_name": name, "value": {"choices": [choice]}}
                        for name, choice in zip(names, ("female", tone), strict=True)
                    ],
                }
            ],
        }
        for place, tone in enumerate(tones)
    ]


@pytest.mark.parametrize(
    ("vocabulary", "read", "left_out"),
    [
        (GENDER, ["female", "female"], "'tone' (dark, light) is another attribute"),
        (labels.named("light,dark"), ["light", "dark"], "'who' (female) is another attribute"),
    ],
)
def test_two_questions_are_two_attributes(tmp_path, vocabulary, read, left_out):
    export = tmp_path / "export.json"
    export.write_text(json.dumps(two_questions()))
    found = read_export(export, vocabulary)
    assert [label.label for label in found] == read
    assert left_out in found.notes[0]


def test_of_two_questions_with_the_same_labels_the_name_decides(tmp_path):
    export = tmp_path / "export.json"
    export.write_text(json.dumps(two_questions(("seems", "is"), ("male", "female"))))
    with pytest.raises(FileFormatError, match=r"got 'seems' \(female\); 'is' \(female, male\)"):
        read_export(export, GENDER)
    named = replace(GENDER, name="is")
    assert [label.label for label in read_export(export, named)] == ["male", "female"]


def test_two_questions_of_which_neither_fits_are_refused(tmp_path):
    export = tmp_path / "export.json"
    export.write_text(json.dumps(two_questions()))
    with pytest.raises(FileFormatError, match=r"labels of the folder \(child, adult, .+ got 'who'"):
        read_export(export, labels.named("child,adult"))


def test_empty_annotations_are_left_out_and_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    tasks = [task("a.png", (1, "male"), (2, "male")) for _ in range(2)]
    tasks[1]["annotations"][1]["result"] = []
    tasks[1]["annotations"][0]["result"].append({"type": "rating", "value": {"rating": 4}})
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    told = "export.json: annotations without a choice were left out, 1 of 4: [1] task 7"
    assert main(["label", "import", "export.json", "."]) == 0
    assert told in " ".join(capsys.readouterr().out.split())
    assert labels.load_labelled_set(tmp_path / "export.json").notes[0].endswith(told)
