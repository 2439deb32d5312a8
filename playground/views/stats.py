"""Statistics: what a search's runs came to, against the time before; tables as CSV."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from playground import query
from playground.costs import dollars
from playground.figures import ENDS, Figures
from playground.models import Connection, Label, Membership, Run, User
from playground.models.ledger import NEAR, Standing, standings
from playground.models.limits import Who
from playground.models.statistics import Groups, groups_of
from playground.periods import NAMES, Period, spoken
from playground.tables import csv_of
from playground.templatetags.playground_tags import duration, status_word
from playground.views import Request
from playground.views.charts import DECADES, Series, chart, ranges, series_of
from playground.views.span import Span

MOST_ROWS = 20  # of a table on the page; its CSV has all
MOST_LINES = 6  # connections in the last two plots


@dataclass(frozen=True)
class Row:
    """A line of a table: one connection, model, label or member."""

    name: str
    now: Figures
    before: Figures
    term: str = ""  # of the search
    provider: str = ""
    url: str = ""

    @property
    def failed_percent(self) -> str:
        return percent(self.now.failure_rate)

    @property
    def first_median(self) -> float | None:
        return self.now.first_at(0.5)

    @property
    def first_slow(self) -> float | None:
        return self.now.first_at(0.95)

    @property
    def total_median(self) -> float | None:
        return self.now.total_at(0.5)

    @property
    def total_slow(self) -> float | None:
        return self.now.total_at(0.95)


def percent(share: float | None) -> str:
    if share is None:
        return ""
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


class Report:
    """Everything about one period and the one before it, in groups."""

    def __init__(self, span: Span, membership: Membership, daily: bool = False) -> None:
        self.span, self.membership = span, membership
        self.period: Period = span.period
        self.now: Groups = groups_of(span.asked.finder, self.period, daily=daily)
        before = self.period.before
        self.before: Groups = (
            groups_of(span.asked.finder, before, lean=True) if before else Groups()
        )

    def rows(self, name: str) -> list[Row]:
        """By `connection`, `model`, `label` or `member`; the most runs first."""
        rows: list[Row] = getattr(self, f"_{name}s")()
        for number, row in enumerate(rows):
            if row.term:
                rows[number] = replace(row, url=self.span.added(row.term))
        return sorted(rows, key=lambda row: (-row.now.runs, -row.before.runs, row.name))

    def _pairs(self, now: Mapping[Any, Figures], before: Mapping[Any, Figures]) -> Iterable[Any]:
        for key in {**now, **before}:
            yield key, now.get(key, Figures()), before.get(key, Figures())

    def _connections(self) -> list[Row]:
        pairs = self._pairs(self.now.connections(), self.before.connections())
        return [
            Row(where.name, now, before, plain_term("connection", where.name), where.provider)
            for where, now, before in pairs
        ]

    def _models(self) -> list[Row]:
        return [
            Row(model or "no model named", now, before, plain_term("model", model))
            for model, now, before in self._pairs(self.now.models, self.before.models)
        ]

    def _labels(self) -> list[Row]:
        names = Label.objects.in_bulk([*self.now.labels, *self.before.labels])
        return [
            Row(names[pk].name, now, before, plain_term("label", names[pk].name))
            if pk
            else Row("no label", now, before, "-has:label")
            for pk, now, before in self._pairs(self.now.labels, self.before.labels)
            if not pk or pk in names
        ]

    def _members(self) -> list[Row]:
        people = User.objects.in_bulk([pk for pk in self.now.members | self.before.members if pk])
        return [
            Row(people[pk].username, now, before, plain_term("user", people[pk].username))
            if pk in people
            else Row("people who are gone", now, before)
            for pk, now, before in self._pairs(self.now.members, self.before.members)
        ]

    @cached_property
    def series(self) -> list[Series]:
        return series_of(self.now.days, self.period)


def plain_term(name: str, value: str) -> str:
    """ "" where the search has no words for it: an asterisk at the end means the rest."""
    return query.term(name, value) if value and not value.endswith("*") else ""


# --- The page ------------------------------------------------------------------------------


@require_GET
def stats(request: Request) -> HttpResponse:
    span = Span.of(request)
    membership = request.user.membership()
    context: dict[str, Any] = {"span": span, "problems": span.asked.query.problems}
    context |= {
        "periods": [
            {"title": title, "url": span.address(period=name), "chosen": name == span.name}
            for name, title in NAMES.items()
        ],
        "switches": {"mine": span.address(whose="mine"), "team": span.address(whose="")},
        "terms": span.terms(),
    }
    if not span.asked.query.problems and membership is not None:
        context |= shown(Report(span, membership))
        if membership.owns or request.user.is_staff:
            context["limits"] = near_limits(membership)
    return render(request, "stats/stats.html", context)


def shown(report: Report) -> dict[str, Any]:
    now, before = report.now.whole, report.before.whole
    against = report.period.before
    connections = report.rows("connection")
    busiest = [(row, row.now) for row in connections if row.now.runs][:MOST_LINES]
    return {
        "now": now,
        "spoken": spoken(report.period),
        "against": spoken(against) if against else "",
        "kpis": kpis(now, before if against else None),
        "charts": charts(report),
        "first_ranges": ranges(busiest, "first"),
        "total_ranges": ranges(busiest, "total"),
        "decades": [text for _, text in DECADES],
        "token_bars": token_bars(busiest),
        "endings": endings(now),
        "tables": tables(report, connections),
        "csv_days": "csv/" + report.span.address(table="day"),
        "csv_both": "csv/" + report.span.address(table="day-connection"),
        "walked": report.now.walked,
    }


def tables(report: Report, connections: list[Row]) -> list[dict[str, Any]]:
    names = {"connection": "connection", "model": "model", "label": "label"}
    if report.membership.owns:
        names["member"] = "member"
    found = []
    for name in names:
        rows = connections if name == "connection" else report.rows(name)
        found.append(
            {
                "name": name,
                "title": f"By {name}",
                "rows": rows[:MOST_ROWS],
                "more": max(0, len(rows) - MOST_ROWS),
                "csv": "csv/" + report.span.address(table=name),
            }
        )
    return found


def kpis(now: Figures, before: Figures | None) -> list[dict[str, str]]:
    """Five figures, each with what it was before."""
    median, earlier = now.first_at(0.5), before.first_at(0.5) if before else None
    rate, earlier_rate = now.failure_rate, before.failure_rate if before else None
    in_out = f"{short(now.tokens_in)} in, {short(now.tokens_out)} out"
    return [
        {
            "name": "Runs",
            "value": f"{now.runs:,}",
            "delta": more(before.runs if before else None, now.runs),
        },
        {"name": "Tokens", "value": short(now.tokens), "delta": in_out},
        {
            "name": "Cost",
            "value": cost(now.cost) or "–",
            "delta": f"{cost(before.cost) or '$0'} before" if before else unpriced(now),
        },
        {
            "name": "Failed",
            "value": percent(rate) or "–",
            "delta": f"{percent(earlier_rate)} before" if earlier_rate is not None else "",
        },
        {
            "name": "First token, median",
            "value": duration(median) or "–",
            "delta": f"{duration(earlier)} before" if earlier is not None else "",
        },
    ]


def cost(amount: Decimal | None) -> str:
    return dollars(amount) if amount is not None else ""


def unpriced(figures: Figures) -> str:
    missing = figures.ended - figures.priced
    return f"{missing:,} runs without a price" if missing > 0 and figures.priced else ""


def more(before: int | None, now: int) -> str:
    if before is None:
        return ""
    if not before:
        return "none before"
    change = round(100 * (now - before) / before)
    if not change:
        return f"as many as before ({before:,})"
    return f"{abs(change):,} % {'more' if change > 0 else 'fewer'} than before"


def short(count: float) -> str:
    """`950`, `12.3 k`, `2.41 M`"""
    for size, sign in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return (
                f"{count / size:.3g} {sign}"
                if count < 1000 * size
                else f"{count / size:,.0f} {sign}"
            )
    return f"{count:,.0f}"


def charts(report: Report) -> list[Any]:
    period, series = report.period, report.series
    when = spoken(period)

    def one(name: str, title: str, kind: str, value: Any, said: Callable[[Any], str]) -> Any:
        return chart(name, title, kind, series, period, value, said, when)

    found = [
        one("runs", "Runs", "bars", lambda figures: figures.runs, short),
        one("cost", "Cost", "bars", lambda f: float(f.cost) if f.cost else None, axis_dollars),
        one("failed", "Failed runs", "bars", lambda figures: figures.failed, short),
        one("first", "First token, median", "lines", lambda f: f.first_at(0.5), axis_duration),
    ]
    return [each for each in found if each is not None]


def axis_dollars(value: float) -> str:
    return dollars(Decimal(str(round(value, 10)))).removesuffix(".00")


def axis_duration(ms: float) -> str:
    return "0" if not ms else duration(ms).replace(".00 s", " s")


def token_bars(rows: list[tuple[Row, Figures]]) -> list[dict[str, Any]]:
    most = max((max(f.tokens_in, f.tokens_out) for _, f in rows), default=0)
    return [
        {
            "row": row,
            "in": f"{100 * f.tokens_in / most:.1f}%",
            "out": f"{100 * f.tokens_out / most:.1f}%",
            "said": (short(f.tokens_in), short(f.tokens_out)),
        }
        for row, f in rows
        if most
    ]


def endings(figures: Figures) -> list[dict[str, Any]]:
    """Parts of one bar, with the statuses that they are of."""
    found, left = [], 0.0
    for status in ENDS:
        share = figures.ends[status] / figures.ended if figures.ended else 0
        if share:
            found.append(
                {
                    "status": str(status),
                    "word": status_word(status).lower(),
                    "percent": percent(share),
                    "x": f"{100 * left:.2f}%",
                    "width": f"{100 * share:.2f}%",
                }
            )
        left += share
    return found


def near_limits(membership: Membership) -> list[dict[str, Any]]:
    """Limits of the team and its people of which little is left, the tightest first."""
    team = membership.team_id
    connections = list(Connection.objects.usable_by(team).values_list("pk", flat=True))
    people = dict(
        Membership.objects.filter(team_id=team)
        .exclude(role=Membership.Role.REVIEWER)
        .values_list("user_id", "user__username")
    )
    whose = [Who(connection, team, user) for connection in connections for user in people]
    found: list[Standing] = standings(Run.objects.all(), whose)
    return [
        {
            "standing": each,
            "who": people.get(each.subject, ""),
            "width": f"{min(100, 100 * each.share):.0f}%",
            "percent": f"{100 * each.share:.0f} %",
        }
        for each in found
        if each.share >= NEAR and each.limit.is_budget
    ]


# --- CSV -----------------------------------------------------------------------------------

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
