"""Tests of speed that fail when something is proven to be slower: ``pytest examples/test_speed.py``."""

from __future__ import annotations

from mobai.integrations.pytest import Bench

NUMBERS = list(range(20_000, 0, -1))


def with_sort() -> list[int]:
    """Sort with what Python brings."""
    return sorted(NUMBERS)


def with_a_heap() -> list[int]:
    """Sort with a heap."""
    from heapq import heapify, heappop

    heap = NUMBERS[:]
    heapify(heap)
    return [heappop(heap) for _ in range(len(heap))]


def test_sorted_is_fastest(mobai_bench: Bench) -> None:
    """Time both in rounds until it is known; it takes about ten."""
    mobai_bench({"sorted": with_sort, "heap": with_a_heap}).assert_fastest("sorted")


def test_new_is_not_slower_than_old(mobai_bench: Bench) -> None:
    """Fail if what is new is proven to take more than a twentieth longer than what was there."""
    found = mobai_bench({"old": with_a_heap, "new": with_sort}, baseline="old", slower_by=0.05)
    found.assert_not_slower()
