"""The tolerant event-stream reader: bytes, however they are cut, to the payloads of their events.

Only LF, CR and CRLF end a line (never U+2028 or U+0085), comments and fields other than `data` are
skipped, a byte-order mark at the start is ignored, and an event at the end of the body needs no
blank line; nor does one that is whole as JSON where another follows (some servers leave the blank
lines out). A line that is bare JSON (some gateways pass an error body through without `data:`)
counts as an event of its own.
"""

import orjson

BOM = b"\xef\xbb\xbf"


class TooLong(ValueError):
    """One event is longer than the reader may keep."""


class EventReader:
    """Feed it what arrives; it returns the complete payloads (bytes, UTF-8) that are in it."""

    def __init__(self, longest: int = 32 * 1024 * 1024) -> None:
        self._longest = longest  # bytes of one event
        self._pending: list[bytes] = []  # pieces of a line that has not ended
        self._pending_size = 0
        self._data: list[bytes] = []  # data lines of an event that has not ended
        self._data_size = 0
        self._at_start = True
        self._after_cr = False

    def feed(self, received: bytes) -> list[bytes]:
        """Raises TooLong."""
        if (plain := self._plain(received)) is not None:
            return plain
        if self._at_start:
            received = self._without_bom(received)
        if self._after_cr and received:
            # The LF of a CRLF that was cut between two reads.
            received = received.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in received:
            self._after_cr = received.endswith(b"\r")
            received = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        head, newline, rest = received.partition(b"\n")
        if head:
            self._keep(head)
        if not newline:
            return []
        first = b"".join(self._pending)
        self._pending.clear()
        lines = rest.split(b"\n")
        tail = lines.pop()
        self._pending_size = 0
        payloads: list[bytes] = []
        self._line(first, payloads)
        for line in lines:
            self._line(line, payloads)
        if tail:
            self._keep(tail)
        return payloads

    def close(self) -> list[bytes]:
        """At a clean end of the body: what was pending."""
        payloads: list[bytes] = []
        last = b"".join(self._pending)
        self._pending.clear()
        self._pending_size = 0
        self._line(last, payloads)
        self._line(b"", payloads)
        return payloads

    def _plain(self, received: bytes) -> list[bytes] | None:
        """Whole events of one line each, as nearly all come; None where it is anything else."""
        if (
            received[:6] != b"data: "
            or received[-2:] != b"\n\n"
            or self._pending
            or self._data
            or self._after_cr
            or self._at_start
            or b"\r" in received
            or len(received) > self._longest
        ):
            return None
        payloads = received[6:-2].split(b"\n\ndata: ")
        return payloads if received.count(b"\n") == 2 * len(payloads) else None

    def _without_bom(self, received: bytes) -> bytes:
        start = b"".join(self._pending) + received
        self._pending.clear()
        self._pending_size = 0
        if len(start) < len(BOM) and BOM.startswith(start):
            self._keep(start)
            return b""
        self._at_start = False
        return start.removeprefix(BOM)

    def _keep(self, piece: bytes) -> None:
        self._pending.append(piece)
        self._pending_size += len(piece)
        self._check_size()

    def _check_size(self) -> None:
        if self._pending_size + self._data_size > self._longest:
            raise TooLong(f"One event of the stream is longer than {self._longest} bytes.")

    def _line(self, line: bytes, payloads: list[bytes]) -> None:
        if line == b"data" or line.startswith(b"data:"):
            data = line[5:].removeprefix(b" ")
            if self._data and self._is_next(data):
                self._end_event(payloads)
            self._data.append(data)
            self._data_size += len(line)
            self._check_size()
        elif not line:
            if self._data:
                self._end_event(payloads)
        elif line.startswith(b"{"):
            payloads.append(line)

    def _is_next(self, data: bytes) -> bool:
        """Whether a line begins another event, though no blank line ended the one before."""
        before = self._data[0]
        begins = data[:1] == b"{" or data.strip() == b"[DONE]"
        if not begins or before[:1] != b"{" or len(self._data) > 1:
            return False
        try:
            orjson.loads(before)
        except orjson.JSONDecodeError:
            return False
        return True

    def _end_event(self, payloads: list[bytes]) -> None:
        payloads.append(b"\n".join(self._data))
        self._data.clear()
        self._data_size = 0
