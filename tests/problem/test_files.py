from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from tests.strategies import instances

from mobai import InputError, Instance


@pytest.mark.parametrize("suffix", [".csv", ".json"])
@given(instance=instances(wide=True))
def test_round_trip(suffix: str, instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("files") / f"instance{suffix}"
    instance.save(path)
    assert Instance.load(path) == instance


def test_round_trip_of_names(tmp_path: Path) -> None:
    ads = Instance([[0.3, 80], [0.5, 95]], [1, 20], ['A, "1"', "B\u00fc"], ["ctr", "latency:min"])
    for name in ("ads.csv", "ads.json"):
        ads.save(tmp_path / name)
        assert Instance.load(str(tmp_path / name)) == ads


@pytest.mark.parametrize(
    "text",
    ["1,2\n3,4\n", "a,1,2\nb,3,4\n", "arm,x,y\na,1,2\nb,3,4\n", "x,y\n1,2\n3,4\n", "\ufeffarm,1,2\n\na,1,2\nb,3,4\n"],
)
def test_forms_of_csv(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    instance = Instance.load(path)
    assert instance.means.tolist() == [[1, 2], [3, 4]]
    if "a,1" in text:
        assert instance.arms == ("a", "b")
    if "x,y" in text:
        assert instance.problem.objective_names == ("x", "y")


def test_sd_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("arm,x,y:min,sd(y)\na,1,2,5\nb,3,4,6\n")
    assert Instance.load(path).sd.tolist() == [[1, 5], [1, 6]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "t.csv: the table is empty"),
        ("t.csv", "arm,x\n", "header but no arms"),
        ("t.csv", "arm,x,y\na,1,2\nb,3\n", "row 3 has 2 cells, the first row has 3"),
        ("t.csv", "arm,x\na,1\nb,fast\n", "row 3: 'fast' is not a number"),
        ("t.csv", "arm,x\na,1\nb,nan\n", "row 3: 'nan' is not a finite number"),
        ("t.csv", "arm,x\na,1\n", "arms: at least two"),
        ("t.csv", "arm,x,sd(z)\na,1,1\nb,2,1\n", r"column 'sd\(z\)' names no metric"),
        ("t.json", "{", "is not valid JSON"),
        ("t.json", "[]", "must be a JSON object with the key 'means'"),
        ("t.json", '{"means": [[1],[2]], "sigma": 1}', "unknown key 'sigma'"),
        ("t.json", '{"means": [[1],[2]], "arms": "ab"}', "arms must be a list of names"),
        ("t.json", '{"means": [[1],[2, 3]]}', "means must be numbers in a rectangular table"),
        ("t.txt", "", "must end in .csv or .json"),
        ("t.csv", f"arm,x\na,{'1' * 200_000}\n", "is not a table in CSV"),
        ("t.json", '{"means": ' + "[" * 100_000, "is not"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        Instance.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        Instance.load(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        Instance.load(tmp_path / "binary.csv")
    with pytest.raises(InputError, match=r"must end in .csv or .json"):
        Instance([[1], [2]]).save(tmp_path / "t.xls")
    with pytest.raises(InputError, match="No such file or directory"):
        Instance([[1], [2]]).save(tmp_path / "nowhere" / "t.csv")
