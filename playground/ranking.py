"""What the votes of a blind panel say: wins, agreement, a ranking; as a program of its own.

    python -m playground.ranking < votes.json > result.json

It stands in a process of its own because numpy and scipy cost a second and 100 MB, which the server
must not carry: nothing of the playground imports this module. It imports nothing of the playground.

In: {"contestants": 3, "votes": [[round, judge, [0, 2], value]…], "samples": 300}. The list holds
the contestants whose outputs stood side by side; `value` is the place of the best one in it, or
"tie", or "bad" (none will do). Out: see `result`. Shares are from 0 to 1; what cannot be told is
null.

A vote for the best of three or more counts as one over each of the others. That is consistent with
Bradley–Terry's model for the best of many, other than pairs that are made from whole rankings
(Azari Soufiani et al. 2013, "Generalized Method-of-Moments for Rank Aggregation").
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

import choix
import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.stats import binomtest

SAMPLES = 300  # of the bootstrap
SEED = 20_251_128  # the same votes give the same intervals
PRIOR = 0.5  # of a win each way between any two, where the votes alone have no finite answer
LEVEL = 0.95


class Vote(NamedTuple):
    round: int
    judge: int
    shown: Sequence[int]  # contestants
    value: int | str  # place of the best one in `shown`, "tie" or "bad"

    def best(self) -> int | None:
        return self.shown[self.value] if isinstance(self.value, int) else None


def result(data: dict[str, Any]) -> dict[str, Any]:
    votes = [Vote(*each) for each in data["votes"]]
    count = int(data["contestants"])
    samples = int(data.get("samples", SAMPLES))
    return {
        "contestants": contestants(votes, count, samples),
        "evened": evened(votes, count),
        "agreement": agreement(votes),
        "divided": divided(votes),
    }


def contestants(votes: Sequence[Vote], count: int, samples: int) -> list[dict[str, Any]]:
    """Of each: wins, losses, ties, bad; the share won with its interval; strength with its own.

    The share is of the votes that prefer one. The strength is the chance, by Bradley–Terry, to be
    preferred over another contestant, each of the others as likely.
    """
    tallies = [Counter[str]() for _ in range(count)]
    for vote in votes:
        best = vote.best()
        for each in vote.shown:
            won = "wins" if each == best else "losses"
            tallies[each][{"tie": "ties", "bad": "bad"}.get(str(vote.value), won)] += 1
    strength = ranked(votes, count, samples)
    return [
        {
            **{name: tally[name] for name in ("wins", "losses", "ties", "bad")},
            "share": share(tally["wins"], tally["wins"] + tally["losses"]),
            "strength": strength[index],
        }
        for index, tally in enumerate(tallies)
    ]


def share(hits: int, of: int) -> list[float] | None:
    """[estimate, low, high] by Wilson's score interval; None where there is nothing."""
    if not of:
        return None
    found = binomtest(hits, of).proportion_ci(LEVEL, method="wilson")
    return [hits / of, float(found.low), float(found.high)]


def wins_of(votes: Iterable[Vote], count: int) -> Any:
    """wins[i, j]: how often i was preferred over j. No preference is half a win each."""
    wins = np.zeros((count, count))
    for vote in votes:
        best = vote.best()
        if best is not None:
            for other in vote.shown:
                wins[best, other] += other != best
        else:
            for one, other in permutations(vote.shown, 2):
                wins[one, other] += 0.5
    return wins


def settled(wins: Any) -> bool:
    """Whether the estimate is finite and one: everybody is linked with everybody by wins, both
    ways (Ford 1957, https://doi.org/10.2307/2308513)."""
    parts, _ = connected_components(wins > 0, directed=True, connection="strong")
    return bool(parts == 1)


def evened(votes: Sequence[Vote], count: int) -> bool:
    """Whether PRIOR had to be added for the ranking of those who were judged."""
    met = sorted({each for vote in votes for each in vote.shown})
    return bool(met) and not settled(wins_of(votes, count)[np.ix_(met, met)])


def chances(wins: Any, even: bool) -> Any:
    """Of each contestant: the mean chance to be preferred over another one."""
    count = len(wins)
    if even:
        wins = wins + PRIOR * (1 - np.eye(count))
    found = choix.ilsr_pairwise_dense(wins)
    against = 1 / (1 + np.exp(found[None, :] - found[:, None]))
    return (against.sum(axis=1) - 0.5) / (count - 1)


def ranked(votes: Sequence[Vote], count: int, samples: int) -> list[list[float] | None]:
    """[estimate, low, high] of each. The bootstrap draws rounds, not votes: judges of the same
    texts do not err independently."""
    met = sorted({each for vote in votes for each in vote.shown})
    found: list[list[float] | None] = [None] * count
    if len(met) < 2:
        return found
    wins = wins_of(votes, count)[np.ix_(met, met)]
    even = not settled(wins)
    estimates = chances(wins, even)
    parts = np.array([wins_of(each, count) for each in _of_rounds(votes)])
    draw = np.random.default_rng(SEED)
    drawn_chances = []
    for _ in range(samples):
        drawn = parts[draw.integers(len(parts), size=len(parts))].sum(axis=0)[np.ix_(met, met)]
        drawn_chances.append(chances(drawn, even or not settled(drawn)))
    low, high = np.quantile(drawn_chances, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    for index, each, lo, hi in zip(met, estimates, low, high, strict=True):
        found[index] = [float(each), float(min(lo, each)), float(max(hi, each))]
    return found


def _of_rounds(votes: Iterable[Vote]) -> Iterable[list[Vote]]:
    rounds: dict[int, list[Vote]] = defaultdict(list)
    for vote in votes:
        rounds[vote.round].append(vote)
    return rounds.values()


def by_round(votes: Iterable[Vote]) -> dict[int, dict[int, str]]:
    """{round: {judge: value}}"""
    found: dict[int, dict[int, str]] = defaultdict(dict)
    for vote in votes:
        found[vote.round][vote.judge] = str(vote.value)
    return found


def agreement(votes: Sequence[Vote]) -> dict[str, Any]:
    """How far judges agree on the rounds that two or more have judged."""
    common = {one: said for one, said in by_round(votes).items() if len(said) > 1}
    same = total = 0
    for said in common.values():
        for one, other in combinations(said.values(), 2):
            same += one == other
            total += 1
    judges = sorted({judge for said in common.values() for judge in said})
    return {
        "rounds": len(common),
        "share": share(same, total),
        "alpha": alpha(common.values()),
        "judges": [
            {"judges": [one, other], **two_judges(one, other, common.values())}
            for one, other in combinations(judges, 2)
        ],
    }


def two_judges(one: int, other: int, said: Iterable[dict[int, str]]) -> dict[str, Any]:
    both = [(each[one], each[other]) for each in said if one in each and other in each]
    same = sum(a == b for a, b in both)
    return {
        "rounds": len(both),
        "share": same / len(both) if both else None,
        "kappa": kappa(both),
    }


def kappa(both: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two judges; None where chance alone explains everything or nothing is there.

    Cohen 1960, https://doi.org/10.1177/001316446002000104
    """
    if not both:
        return None
    count = len(both)
    observed = sum(a == b for a, b in both) / count
    first, second = Counter(a for a, _ in both), Counter(b for _, b in both)
    expected = sum(first[value] * second[value] for value in first) / count**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def alpha(said: Iterable[dict[int, str]]) -> float | None:
    """Krippendorff's alpha for nominal data, any number of judges, with gaps.

    Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C,
    https://repository.upenn.edu/asc_papers/43
    """
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for values in said:
        if len(values) < 2:
            continue
        counts = Counter(values.values())
        for one in counts:
            for other in counts:
                pairs = counts[one] * (counts[other] - (one == other))
                weights[one, other] += pairs / (len(values) - 1)
    margins: dict[str, float] = defaultdict(float)
    for (one, _), weight in weights.items():
        margins[one] += weight
    total = sum(margins.values())
    if total <= 1:
        return None
    differing = sum(weight for (one, other), weight in weights.items() if one != other)
    expected = (total**2 - sum(margin**2 for margin in margins.values())) / (total - 1)
    return None if expected == 0 else 1 - differing / expected


def divided(votes: Sequence[Vote]) -> list[int]:
    """Rounds on which judges differ, those that divide them most evenly and most strongly first."""
    found = []
    for one, said in by_round(votes).items():
        counts = Counter(said.values())
        if len(counts) > 1:
            preferred = sorted(n for value, n in counts.items() if value not in ("tie", "bad"))
            opposed = preferred[-2] if len(preferred) > 1 else 0  # to the most frequent preference
            apart = 1 - sum(each**2 for each in counts.values()) / len(said) ** 2
            found.append((-opposed, -apart, one))
    return [one for _, _, one in sorted(found)]


if __name__ == "__main__":
    json.dump(result(json.load(sys.stdin)), sys.stdout)
