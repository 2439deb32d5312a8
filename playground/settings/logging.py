"""What is logged, and how a line of the log looks."""

from typing import Any


def logging(level: str, form: str) -> dict[str, Any]:
    """`level` is that of our own lines; `form` is line or json."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
            "json": {"()": "playground.logs.Json"},
        },
        "filters": {
            "run": {"()": "playground.logs.WithRun"},
            "addresses": {"()": "playground.addresses.WithoutSecrets"},
        },
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": form,
                "filters": ["run"],
            },
            "count": {"class": "playground.metrics.Counting", "level": "WARNING"},
        },
        "root": {"handlers": ["console", "count"], "level": "WARNING"},
        "loggers": {
            "playground": {"level": level},
            "django.request": {"filters": ["addresses"]},
            "django.security.csrf": {"filters": ["addresses"]},
            # A line for each run that ends: for a log that is searched, not for one that is read.
            "playground.runs": {"level": level if form == "json" else "WARNING"},
            # These print request headers, and with them keys, when they are asked for everything.
            **{
                name: {"level": "WARNING"}
                for name in ("httpx", "httpcore", "aiohttp", "daphne", "asyncio", "twisted")
            },
        },
    }
