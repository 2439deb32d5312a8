"""Tells systemd how far the server is (`Type=notify`); where systemd did not start it, nobody."""

import os
import socket
from contextlib import suppress


def tell(*lines: str) -> None:
    """Each line as `man sd_notify` has them, such as READY=1."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    # Nothing depends on it that would be worth a server.
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.connect(address)
        told.sendall("\n".join(lines).encode())


def ready() -> None:
    tell("READY=1", "STATUS=Takes requests")


def stopping(seconds: float, status: str) -> None:
    """It may take that long, whatever TimeoutStopSec says."""
    tell("STOPPING=1", f"EXTEND_TIMEOUT_USEC={round(seconds * 1e6)}", f"STATUS={status}")
