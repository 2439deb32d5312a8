"""How the cost of a token grows with the length of an output and with the columns of a page.

`python -m tests.bench.growth`. With the number of streams it is in `streams`, with the size of the
history in `history`.
"""

import os
import sys
from collections.abc import Iterator

from tests.bench.streams import HEADINGS, clock, line, playground, served

LENGTHS = (100, 1000, 5000)  # tokens, at 100 a second and 10 streams
WIDTHS = (1, 5, 20)  # columns of one comparison, with 20 streams of 500 tokens at 50 a second


def measure() -> Iterator[str]:
    """The lines of the table."""
    with clock() as url, served(url) as (server, person, connection):
        yield f"what            {HEADINGS}"
        for n in LENGTHS:
            found = playground(server, person, connection, 10, 100.0, n)
            yield f"{n:>5} tokens    {line('playground', found)}"
        for columns in WIDTHS:
            found = playground(server, person, connection, 20, 50.0, 500, columns)
            yield f"{columns:>5} columns   {line('playground', found)}"
        yield f"load {os.getloadavg()[0]:.1f}"


def main() -> None:
    for text in measure():
        print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
