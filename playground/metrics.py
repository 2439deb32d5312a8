"""What is counted while the server runs, for Prometheus; `views/health.py` serves it.

Every process counts for itself, and a scraper adds up. Labels are statuses and provider slugs,
never names, models or anything that somebody typed.
"""

import logging

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

logger = logging.getLogger("playground.runs")

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

_SECONDS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)


def _counter(name: str, text: str, *labels: str) -> Counter:
    return Counter(f"playground_{name}", text, labels, registry=REGISTRY)


def _gauge(name: str, text: str) -> Gauge:
    return Gauge(f"playground_{name}", text, registry=REGISTRY)


RUNS = _counter("runs", "Runs that have ended", "status", "provider", "error")
TOKENS = _counter("tokens", "Tokens by the backends' own count", "provider", "kind")
FIRST_TOKEN = Histogram(
    "playground_first_token_seconds", "From the request to the first token", ["provider"],
    buckets=_SECONDS, registry=REGISTRY,
)  # fmt: skip
RUN_SECONDS = Histogram(
    "playground_run_seconds", "From the request to the end of the answer", ["provider"],
    buckets=_SECONDS, registry=REGISTRY,
)  # fmt: skip
TICK = Histogram(
    "playground_tick_seconds", "One transaction of the recorder", registry=REGISTRY,
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 20),
)  # fmt: skip
LOGGED = _counter("log_messages", "Warnings and errors in the log", "level", "logger")
RUNNING = _gauge("runs_running", "Runs that this process carries out now")
QUEUED = _gauge("runs_queued", "Runs of this process that wait for their turn")
SOCKETS = _gauge("sockets", "Open websockets")
BACKLOG = _gauge("backlog_characters", "Output in memory that is not saved yet")
DATABASE_AWAY = _gauge("database_away", "1 while the database cannot be written")
REDIS_AWAY = _gauge("redis_away", "1 while Redis cannot be reached")
RELAY_LAG = _gauge("relay_lag_seconds", "How long the last message took through Redis and back")
DRAINING = _gauge("draining", "1 while the process is stopping and takes no new runs")


def ended(
    run: int,
    provider: str,
    status: str,
    error: str,
    tokens: tuple[int | None, int | None],
    first_ms: float | None,
    total_ms: float | None,
) -> None:
    """A run has ended and is saved. `tokens` are those of the prompt and of the answer."""
    RUNS.labels(status, provider, error).inc()
    for kind, number in zip(("prompt", "completion"), tokens, strict=True):
        if number:
            TOKENS.labels(provider, kind).inc(number)
    if first_ms is not None:
        FIRST_TOKEN.labels(provider).observe(first_ms / 1000)
    if total_ms is not None:
        RUN_SECONDS.labels(provider).observe(total_ms / 1000)
    facts = {"status": status, "provider": provider, "error_kind": error, "tokens": tokens[1],
             "first_token_ms": first_ms, "total_ms": total_ms}  # fmt: skip
    logger.info("Run %d: %s", run, status, extra={"run": run, "facts": facts})


class Counting(logging.Handler):
    """Counts what goes into the log."""

    def emit(self, record: logging.LogRecord) -> None:
        LOGGED.labels(record.levelname.lower(), record.name.partition(".")[0]).inc()
