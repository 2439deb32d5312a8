"""One of many ids, as one parameter."""

from playground.models import Run, RunLabel, User
from playground.models.among import Among
from tests.runs import make_run


def test_it_finds_those_and_no_others(alice: User) -> None:
    runs = [make_run(alice).pk for _ in range(3)]
    found = Run.objects.filter(Among("pk", [runs[2], runs[0], 10**15])).order_by("pk")
    assert list(found.values_list("pk", flat=True)) == [runs[0], runs[2]]
    assert not Run.objects.filter(Among("pk", [])).exists()
    assert not RunLabel.objects.filter(Among("run_id", runs)).exists()
    assert list(Run.objects.exclude(Among("pk", runs[:2]))) == [Run.objects.get(pk=runs[2])]


def test_it_takes_any_number(alice: User) -> None:
    run = make_run(alice)
    assert Run.objects.filter(Among("pk", range(run.pk, run.pk + 100_000))).get() == run
