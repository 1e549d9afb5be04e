# SPDX-License-Identifier: MIT
"""Chooses among the cases of a conformance suite: at random, and spread over its groups.

A case has a number that its name and the seed decide, and a group gives those of its cases whose numbers are the smallest. A sample
therefore does not depend on the order of the list, and most of it stays when the suite gains cases.
"""

from __future__ import annotations

import hashlib
import heapq
from typing import Iterable

GROUP_DEPTH = 3  # package.module.group
TRIM_EVERY = 100_000  # names between two looks at how many a group can still give


def group_of(case: str, depth: int = GROUP_DEPTH) -> str:
    """The first parts of its name, the last one (the case's own) left out."""
    return ".".join(case.split(".")[:-1][:depth])


def number_of(case: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed} {case}".encode(), digest_size=8).digest())


def quota(sizes: Iterable[int], sample: int) -> int:
    """The largest number that each group can give, those with fewer cases all of theirs, so that they are no more than `sample`."""
    ordered = sorted(sizes)
    for i, size in enumerate(ordered):
        share = sample // (len(ordered) - i)
        if size > share:
            return share
        sample -= size
    return ordered[-1] if ordered else 0


class Sampler:
    """Keeps of a list of millions only what a sample can still need."""

    def __init__(self, sample: int, seed: int, depth: int = GROUP_DEPTH) -> None:
        self.sample, self.seed, self.depth = sample, seed, depth
        self.seen = 0
        self.sizes: dict[str, int] = {}
        self.kept: dict[str, list[tuple[int, str]]] = {}  # heaps, the largest number first
        self.most = sample

    def add(self, case: str) -> None:
        group = group_of(case, self.depth)
        self.seen += 1
        self.sizes[group] = self.sizes.get(group, 0) + 1
        heap, entry = self.kept.setdefault(group, []), (-number_of(case, self.seed), case)
        if len(heap) < self.most:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
        if self.seen % TRIM_EVERY == 0:
            # One more than the quota: what is left after all groups gave the same is filled up.
            self.most = min(self.most, quota(self.sizes.values(), self.sample) + 1)
            for kept in self.kept.values():
                while len(kept) > self.most:
                    heapq.heappop(kept)

    def chosen(self) -> list[str]:
        """Sorted by name: the cases of a group are neighbours."""
        each = quota(self.sizes.values(), self.sample)
        taken, left = [], []
        for heap in self.kept.values():
            ordered = sorted(heap, reverse=True)
            taken += ordered[:each]
            left += ordered[each:each + 1]
        taken += sorted(left, reverse=True)[:max(self.sample - len(taken), 0)]
        return sorted(case for _, case in taken)


def choose(cases: Iterable[str], sample: int | None, seed: int, depth: int = GROUP_DEPTH) -> list[str]:
    """All of them, sorted and each once, where `sample` is None."""
    if sample is None:
        return sorted(set(cases))
    sampler = Sampler(sample, seed, depth)
    for case in cases:
        sampler.add(case)
    return sorted(set(sampler.chosen()))
