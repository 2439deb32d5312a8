"""The embedded backend: llama.cpp's own HTTP server with a small model, one process per DATA_DIR.

Any number of processes share it. Each user holds a shared lock on `users.lock`; the llama.cpp
process asks twice a second whether it could have that lock alone, and exits when it can. The
kernel frees a dead user's lock, so not even `kill -9` of every user leaves it running. It holds
`process.lock` for its own life, which tells "alive" without trusting a process id.

Knows nothing of Django, of connections or of runs.
"""

from playground.embedded.backend import EmbeddedBackend, EmbeddedError, is_installed
from playground.embedded.model_file import ensure_model
from playground.embedded.process import MODEL, SLOT_TOKENS, SLOTS
from playground.embedded.state import address, locked, status

__all__ = [
    "MODEL",
    "SLOTS",
    "SLOT_TOKENS",
    "EmbeddedBackend",
    "EmbeddedError",
    "address",
    "ensure_model",
    "is_installed",
    "locked",
    "status",
]
