"""Where the playground is reached."""

import socket

from django.core.exceptions import ImproperlyConfigured

from playground.settings.environment import parts_of, text

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (compared, not bound)


def own_addresses() -> list[str]:
    """What a browser in the same network may call this machine."""
    try:
        found = socket.gethostbyname_ex(socket.gethostname())
    except OSError:
        return []
    return [found[0], *found[1], *found[2]]


def public_url(host: str, port: int) -> str:
    """PUBLIC_URL, else the address at which a server that listens there is reached from here."""
    host = "127.0.0.1" if host in EVERYWHERE else host
    host = f"[{host}]" if ":" in host else host
    url = text("PUBLIC_URL", f"http://{host}:{port}").rstrip("/")
    example = "https://playground.example.org or http://127.0.0.1:8000/playground"
    parts = parts_of("PUBLIC_URL", url, ("http", "https"), example)
    if not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ImproperlyConfigured(f"PUBLIC_URL must be an address such as {example}.")
    return url
