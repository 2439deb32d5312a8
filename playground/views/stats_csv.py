"""Statistics as CSV: every table, and each day."""

from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_GET

from playground.figures import ENDS, Figures
from playground.tables import csv_of
from playground.views import Request
from playground.views.report import Report
from playground.views.span import Span

HEAD = (
    "runs", "completed", "failed", "stopped", "interrupted", "tokens_in", "tokens_out", "cost_usd",
    "runs_with_cost", "first_token_p50_ms", "first_token_p95_ms", "latency_p50_ms",
    "latency_p95_ms",
)  # fmt: skip
DAYS = ("day", "day-connection")
BEFORE = ("runs_before", "tokens_in_before", "tokens_out_before", "cost_usd_before")


@require_GET
def export(request: Request) -> HttpResponse:
    """`?table=`: one of DAYS, `connection`, `model`, `label` or, for owners, `member`."""
    span, table = Span.of(request), request.GET.get("table", "")
    membership = request.user.membership()
    known = {*DAYS, "connection", "model", "label"}
    if membership is None or span.asked.query.problems:
        raise Http404
    if table not in (known | {"member"} if membership.owns else known):
        raise Http404
    report = Report(span, membership, daily=table in DAYS)
    rows = by_day(report, table) if table.startswith("day") else by_name(report, table)
    response = HttpResponse(csv_of(rows), content_type="text/csv; charset=utf-8")
    name = f"statistics-{table}-{report.period.first}-{report.period.last}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def by_name(report: Report, table: str) -> Iterable[list[object]]:
    yield [table, *HEAD, *BEFORE]
    for row in report.rows(table):
        before = row.before
        spent = plain_cost(before)
        yield [row.name, *cells(row.now), before.runs, before.tokens_in, before.tokens_out, spent]


def by_day(report: Report, table: str) -> Iterable[list[object]]:
    """Always by day, whatever the plots are by; a day without a run is there too."""
    days = report.now.days
    if table == "day-connection":
        yield ["day", "connection", *HEAD]
        for (day, where), figures in sorted(days.items()):
            yield [str(day), where.name, *cells(figures)]
        return
    whole: dict[Any, Figures] = {}
    for (day, _), figures in days.items():
        whole.setdefault(day, Figures()).add(figures)
    yield ["day", *HEAD]
    for day in report.period.each_day():
        yield [str(day), *cells(whole.get(day, Figures()))]


def cells(figures: Figures) -> list[object]:
    """In the order of HEAD; "" where nothing is known."""
    times = [figures.first_at(0.5), figures.first_at(0.95), figures.total_at(0.5)]
    return [
        figures.runs,
        *(figures.ends[status] for status in ENDS),
        figures.tokens_in,
        figures.tokens_out,
        plain_cost(figures),
        figures.priced,
        *("" if ms is None else round(ms, 3) for ms in (*times, figures.total_at(0.95))),
    ]


def plain_cost(figures: Figures) -> str:
    return "" if figures.cost is None else format(figures.cost, "f")
