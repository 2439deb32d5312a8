"""What programs ask that watch over the server: /healthz, /readyz and /metrics.

Answered before anything else of a request is looked at: they come by the address of a process, not
by PUBLIC_URL, and have to answer while the database does not.
"""

import asyncio
import hmac
import json
from collections.abc import Callable, Coroutine
from typing import Any

from asgiref.sync import async_to_sync, iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware
from prometheus_client import generate_latest

from playground import metrics
from playground.database import in_thread
from playground.hub import hub
from playground.runner import runner

SILENT = 10.0  # seconds without a heartbeat in the database after which it is away
PATIENCE = 3.0  # seconds for a question to the database
DATABASE_AWAY = "The database cannot be reached."


@sync_and_async_middleware
def Probes(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    if not iscoroutinefunction(get_response):

        def handler(request: HttpRequest) -> Any:
            probe = PROBES.get(request.path_info)
            return async_to_sync(probe)(request) if probe else get_response(request)

        return handler

    async def middleware(request: HttpRequest) -> HttpResponse:
        probe = PROBES.get(request.path_info)
        answer: HttpResponse = await (probe(request) if probe else get_response(request))
        return answer

    return markcoroutinefunction(middleware)


async def healthz(request: HttpRequest) -> HttpResponse:
    """Whether the process lives; nothing else is asked, so that no outage gets it restarted."""
    return HttpResponse("ok\n", content_type="text/plain")


async def readyz(request: HttpRequest) -> HttpResponse:
    """503 while requests had better go to another process. Redis away is said, but every process
    would be without it, and all of them go on."""
    problems = await _problems()
    said = {
        "ready": not problems,
        "problems": problems,
        "redis": "away" if hub.relay.away else "ok" if settings.REDIS_URL else "not used",
    }
    body = json.dumps(said) + "\n"
    answer = HttpResponse(body, status=503 if problems else 200, content_type="application/json")
    answer.headers["Cache-Control"] = "no-store"
    return answer


async def _problems() -> list[str]:
    standing = runner.standing
    if standing.draining:
        return ["This server is stopping."]
    if not standing.bound:
        return ["This server is starting."]
    if runner.trouble or standing.silence > SILENT:
        return [DATABASE_AWAY]
    try:
        async with asyncio.timeout(PATIENCE):
            missing = await in_thread(_missing_migrations)
    except (DatabaseError, InterfaceError, TimeoutError):
        return [DATABASE_AWAY]
    return [f"The database lacks {missing} migrations."] if missing else []


def _missing_migrations() -> int:
    applied = MigrationRecorder(connection).applied_migrations()
    return len(set(_known()) - set(applied))


_found: list[tuple[str, str]] = []


def _known() -> list[tuple[str, str]]:
    """On disk; read once."""
    if not _found:
        _found.extend(MigrationLoader(None).disk_migrations)
    return _found


async def metrics_page(request: HttpRequest) -> HttpResponse:
    if not _may_read(request):
        return HttpResponse("Not found\n", status=404, content_type="text/plain")
    standing = runner.standing
    metrics.RUNNING.set(standing.running)
    metrics.QUEUED.set(standing.queued)
    metrics.SOCKETS.set(len(hub.sockets))
    metrics.BACKLOG.set(standing.backlog)
    metrics.DATABASE_AWAY.set(bool(runner.trouble) or standing.silence > SILENT)
    metrics.REDIS_AWAY.set(hub.relay.away)
    metrics.RELAY_LAG.set(hub.relay.lag)
    metrics.DRAINING.set(standing.draining)
    text = generate_latest(metrics.REGISTRY)
    return HttpResponse(text, content_type="text/plain; version=0.0.4; charset=utf-8")


def _may_read(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "")
        wanted = f"Bearer {settings.METRICS_TOKEN}"
        return hmac.compare_digest(given.encode(), wanted.encode())
    # What a proxy on this machine passes on comes from loopback too, but it says so.
    forwarded = "X-Forwarded-For" in request.headers or "Forwarded" in request.headers
    named = settings.CLIENT_ADDRESS_HEADER and settings.CLIENT_ADDRESS_HEADER in request.headers
    return request.META.get("REMOTE_ADDR") in settings.LOOPBACK and not forwarded and not named


Probe = Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]
PROBES: dict[str, Probe] = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics_page}
