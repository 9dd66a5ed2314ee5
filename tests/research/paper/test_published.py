"""The published numbers, typed a second time from the tables of the paper."""

from __future__ import annotations

from mobai.research.paper.published import TABLE_1, TABLE_2, TABLE_3

# As printed: mean, plus-minus, from the first row of each table to the last.
PRINTED_1 = "10.0 7.2 41.0 10.0 92.2 19.8 184.3 41.0"
PRINTED_2 = """
1686.67 21.03 5097.33 90.78 8435.0 115.23
7428.0 139.69 18612.67 214.59 30914.33 622.61
10584.67 313.52 37316.33 406.90 65395.0 602.98
"""
PRINTED_3 = """
968.82 58.21 1023.77 67.42
4485.98 124.92 6168.29 132.01
3841.05 136.44 4320.55 128.26
2322.39 461.54 2411.16 421.88
"""


def numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


def test_table_1() -> None:
    assert [number for cell in TABLE_1.values() for number in cell[1:]] == numbers(PRINTED_1)
    assert [cell[0] for cell in TABLE_1.values()] == [1, 5, 10, 20]


def test_tables_2_and_3() -> None:
    for table, printed, trials in ((TABLE_2, PRINTED_2, 3), (TABLE_3, PRINTED_3, 100)):
        cells = [cell for row in table.values() for cell in row.values()]
        assert [number for cell in cells for number in cell[:2]] == numbers(printed)
        assert {cell.trials for cell in cells} == {trials}
    assert list(TABLE_2) == ["mo-bai", "d-tracking:iterations=100", "d-tracking"]
    assert list(TABLE_3) == ["mo-bai", "d-tracking", "d-tracking:start=previous", "successive-elimination"]
    assert {tuple(row) for row in TABLE_2.values()} == {(10.0, 50.0, 100.0)}
    assert {tuple(row) for row in TABLE_3.values()} == {(0.1, 0.05)}
