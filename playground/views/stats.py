"""The page of statistics: what a search's runs came to, against the time before."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from playground.costs import dollars
from playground.figures import ENDS, Figures
from playground.models import Connection, Membership, Run
from playground.models.ledger import NEAR, Standing, standings
from playground.models.limits import Who
from playground.periods import NAMES, spoken
from playground.templatetags.playground_tags import duration, status_word
from playground.views import Request
from playground.views.charts import DECADES, chart, ranges
from playground.views.report import Report, Row, percent
from playground.views.span import Span

MOST_ROWS = 20  # of a table on the page; its CSV has all
MOST_LINES = 6  # connections in the last two plots


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
            "delta": f"{cost(before.cost) or '–'} before" if before else unpriced(now),
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
