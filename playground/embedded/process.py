"""The llama.cpp process itself. The only module that loads xllamacpp."""

import fcntl
import importlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from playground.embedded.state import answers, locked, write_state

MODEL = "smollm2"  # the name under which the server lists its model
SLOTS = 4  # requests answered at the same time; further ones wait in llama.cpp's own queue
SLOT_TOKENS = 2048  # context of each slot

POLL_SECONDS = 0.5  # how soon the process notices that nobody uses it any more


def serve(model: Path, data_dir: Path) -> None:
    """Serve the model until nobody holds `users.lock`. Does not return."""
    users = os.open(data_dir / "embedded" / "users.lock", os.O_RDWR)
    with locked(data_dir / "embedded" / "process.lock"):
        os.nice(5)  # pages and streams go first where the model takes every core
        server = _start_server(model)
        port = int(server.listening_address.rpartition(":")[2])
        while not answers(port):
            time.sleep(0.05)
        state = {"pid": os.getpid(), "port": port, "model": str(model), "started": time.time()}
        write_state(data_dir, state)
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Whoever comes now waits for the lock, finds no state and starts a new process.
                (data_dir / "embedded" / "state.json").unlink(missing_ok=True)
                os._exit(0)
            time.sleep(POLL_SECONDS)


def _start_server(model: Path) -> Any:
    # Imported here alone, and by name, so that no user of this package loads 100 MB for it.
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(model)
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free one
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * SLOT_TOKENS
    params.n_threads_http = 64  # a waiting request holds one; /health must still be answered
    params.endpoint_slots = True
    params.ui = False
    params.cors_origins = "localhost"  # pages of other sites are not to use it
    params.cache_ram_mib = 256  # the default keeps up to 8 GB of old prompts
    params.verbosity = 2  # warnings and errors; otherwise five lines for each request
    return llama.Server(params)
