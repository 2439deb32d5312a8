"""The test of a connection at a real llama.cpp server that wants a key."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from playground.checkup import check_up
from playground.database import in_thread
from playground.models import Connection
from playground.runner import Runner

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True)]

KEY, WRONG = "sk-real-00000001", "sk-wrong-0000002"

# Says where it listens, serves until its standard input ends.
GUARDED = f"""
import sys
import xllamacpp as llama
params = llama.CommonParams()
params.model.path = sys.argv[1]
params.hostnames, params.port, params.n_ctx, params.verbosity = ["127.0.0.1"], 0, 512, 2
params.api_keys = ["{KEY}"]
server = llama.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def llama(model: Path) -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-c", GUARDED, model],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield f"{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


async def test_it_finds_llama_cpp_and_which_key_it_takes(
    runner: Runner, connect: Callable[..., Connection], llama: str
) -> None:
    connection = await in_thread(connect, "real", KEY, base_url=llama, dialect="vllm")
    report = await check_up(connection)
    assert (report.trouble, report.passed, report.dialect) == ("", True, "llama.cpp")
    assert report.models == 1
    assert not report.asked_for_a_token  # its list wants the key too
    await in_thread(connection.add_key, WRONG)
    report = await check_up(connection)
    assert not report.passed
    tried = {each.last_four: (each.state, each.accepted) for each in report.keys}
    assert tried == {"0001": ("active", True), "0002": ("new", False)}
    assert report.keys[0].words == "Invalid API Key"
