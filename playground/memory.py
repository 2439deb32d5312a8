"""What a server keeps of memory that it has once used: Python's garbage, the C library's pools."""

import asyncio
import ctypes
import gc
import itertools

ARENAS, M_ARENA_MAX = 2, -8  # the second from malloc.h
COLLECT_EVERY = 10.0  # seconds
TRIM_EVERY = 3  # collections
FEW = 2_000  # objects that an idle server makes between two collections


def few_arenas() -> bool:
    """Let all threads share what the C library keeps; False where it is not glibc.

    It would keep up to eight pools a core, one for each thread that comes by, and what the largest
    page or answer of a thread once took stays in its pool. To be called before there are threads.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(M_ARENA_MAX, ARENAS) == 1


def settle() -> None:
    """What is loaded by now stays: looking through it again and again would halt the streams."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


async def give_back() -> None:
    """Until it is cancelled: garbage is collected by the clock, and free memory given back.

    Each page, socket and answer leaves circles of objects (Django's models, httpx's responses) that
    live for seconds. Python itself looks at those again after minutes, and the memory that they had
    taken until then is in pieces by then, each of which something small that lives holds.
    """
    for collections in itertools.count(1):
        await asyncio.sleep(COLLECT_EVERY)
        if not _idle():
            gc.collect()
        if collections % TRIM_EVERY == 0:
            await asyncio.to_thread(trim)


def _idle() -> bool:
    objects, *older = gc.get_count()
    return objects < FEW and not any(older)


def trim() -> bool:
    """Give free memory of the C library's pools back to the system; False where none was."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    return malloc_trim is not None and malloc_trim(ctypes.c_size_t(0)) == 1
