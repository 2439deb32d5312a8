"""What a server gives back of memory: in processes of their own, for the C library's is of all."""

import asyncio
import contextlib
import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator

import pytest

from playground import memory

# Prints in how many pools eight threads, all alive, have their memory.
COUNT = """
import ctypes, os, re, sys, tempfile, threading

from playground.memory import few_arenas

if sys.argv[1:] == ["few"] and not few_arenas():
    sys.exit("mallopt took no number of arenas")
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
if not hasattr(libc, "malloc_info"):
    print("not glibc")
    sys.exit()
there = threading.Barrier(8)

def take():
    libc.malloc(ctypes.c_size_t(1000))
    there.wait()

threads = [threading.Thread(target=take) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with tempfile.NamedTemporaryFile() as file:
    stream = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    print(len(re.findall(rb"<heap nr=", file.read())))
"""

# Takes 200 MB in small pieces, frees all but the last, and prints what stays resident, in MB.
HELD = """
import ctypes, sys

from playground.memory import trim

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
if not hasattr(libc, "malloc_trim"):
    print("not glibc")
    sys.exit()
taken = [libc.malloc(4000) for _ in range(50_000)]
for each in taken:
    ctypes.memset(each, 1, 4000)
for each in taken[:-1]:
    libc.free(each)
if sys.argv[1:] == ["trim"] and not trim():
    sys.exit("nothing was given back")
with open("/proc/self/status") as status:
    print(int(status.read().partition("VmRSS:")[2].split()[0]) // 1024)
"""


class Thing:
    """Holds itself: only the collector frees it."""

    def __init__(self) -> None:
        self.me = self


def said(program: str, *arguments: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("not glibc"):
        pytest.skip("The C library is not glibc.")
    return int(done.stdout)


def test_threads_share_two_pools_of_the_c_library() -> None:
    assert said(COUNT) > 2  # or this test could not fail
    assert said(COUNT, "few") <= 2


def test_what_is_free_goes_back_to_the_system() -> None:
    kept = said(HELD)
    assert kept > 200  # or this test could not fail
    assert said(HELD, "trim") < kept - 150


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


async def give_back_for_a_moment(until: Callable[[], bool]) -> None:
    task = asyncio.create_task(memory.give_back())
    try:
        async with asyncio.timeout(10):
            while not until():
                await asyncio.sleep(0.01)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.mark.usefixtures("no_collector")
async def test_circles_are_collected_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "COLLECT_EVERY", 0.01)
    monkeypatch.setattr(memory, "FEW", 0)
    there = weakref.ref(Thing())
    assert there() is not None
    await give_back_for_a_moment(lambda: there() is None)


async def test_an_idle_server_looks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[int] = []
    trimmed: list[int] = []
    monkeypatch.setattr(memory, "COLLECT_EVERY", 0.001)
    monkeypatch.setattr(memory, "_idle", lambda: True)
    monkeypatch.setattr(memory, "trim", lambda: trimmed.append(1))
    gc.callbacks.append(watch := lambda phase, info: collected.append(info["generation"]))
    try:
        await give_back_for_a_moment(lambda: len(trimmed) > 2)
    finally:
        gc.callbacks.remove(watch)
    assert 2 not in collected
