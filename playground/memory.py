"""What the C library keeps of the memory that a server has once used."""

import ctypes

ARENAS, M_ARENA_MAX = 2, -8  # the second from malloc.h


def few_arenas() -> bool:
    """Let all threads share what the C library keeps; False where it is not glibc.

    It would keep up to eight pools a core, one for each thread that comes by, and what the largest
    page or answer of a thread once took stays in its pool. To be called before there are threads.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(M_ARENA_MAX, ARENAS) == 1
