"""ASGI: pages by Django, one websocket route, origin-checked and authenticated."""

import logging
import os
from typing import Any
from urllib.parse import urlsplit

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "playground.settings")
pages = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402 (needs Django's apps)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import WebsocketDenier  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import path  # noqa: E402

from playground.consumers import ComparisonConsumer  # noqa: E402

logger = logging.getLogger(__name__)

LONGEST_ORIGIN = 500  # characters


class SameOrigin:
    """Lets in sockets of our own pages only; a refusal is logged with the setting that decides."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        origin = dict(scope.get("headers", ())).get(b"origin", b"").decode("latin-1")
        if is_own(origin):
            await self._application(scope, receive, send)
            return
        logger.warning(
            "Websocket refused: its origin %r is not PUBLIC_URL (%s)",
            origin[:100],
            settings.PUBLIC_URL,
        )
        await WebsocketDenier()(scope, receive, send)


def is_own(origin: str) -> bool:
    """Whether an Origin header names this playground; never raises."""
    if len(origin) > LONGEST_ORIGIN:
        return False
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return False
    netloc = parts.hostname or ""
    netloc = f"[{netloc}]" if ":" in netloc else netloc
    own = f"{parts.scheme}://{netloc}" + (f":{port}" if port else "")
    return own in settings.CSRF_TRUSTED_ORIGINS


# Below a sub-path there are two: some proxies strip it, and some leave it.
prefixes = {"", urlsplit(settings.PUBLIC_URL).path.strip("/") + "/"}
routes = [
    path(f"{prefix.lstrip('/')}ws/", ComparisonConsumer.as_asgi()) for prefix in sorted(prefixes)
]

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": SameOrigin(AuthMiddlewareStack(URLRouter(routes))),
    }
)
