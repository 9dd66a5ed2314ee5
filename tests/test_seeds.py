"""Random numbers from named axes: every axis counts, and so does its place."""

from __future__ import annotations

from mobai.seeds import NumberedStreams, stream


def test_every_axis_counts() -> None:
    axes: list[tuple[str | int, ...]] = [
        ("noise",),
        ("noise", "trial"),
        ("noise", "trial", 7),
        ("noise", "trial", 8),
        ("trial", "noise", 7),
        ("noise", 7),
    ]
    first = [stream(1, *one).random() for one in axes]
    assert len(set(first)) == len(axes)
    assert first == [stream(1, *one).random() for one in axes]
    assert first[0] != stream(2, "noise").random()


def test_every_number_and_axis_counts() -> None:
    ask, drop = NumberedStreams(1, "ask"), NumberedStreams(1, "drop")
    found = [streams.at(number).random() for streams in (ask, drop) for number in range(5)]
    assert len(set(found)) == 10
    assert found[:5] == [NumberedStreams(1, "ask").at(number).random() for number in range(5)]
