"""How many pools the C library keeps: of a process that has threads, the memory of a server."""

import subprocess
import sys

import pytest

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


def arenas(*arguments: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("not glibc"):
        pytest.skip("The C library is not glibc.")
    return int(done.stdout)


def test_threads_share_two_pools_of_the_c_library() -> None:
    assert arenas() > 2  # or this test could not fail
    assert arenas("few") <= 2
