"""What is known of a live run and not yet written, in a form that every database takes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from playground.completion import TEXT_KINDS, Batch, StreamEvent, storable
from playground.log import Ending


@dataclass
class Line:
    """A live run of this process."""

    run: int
    comparison: int
    seq: int = 0  # the last row that is committed
    batch: Batch = field(default_factory=Batch)
    ending: Ending | None = None
    held: dict[tuple[str, int], str] = field(default_factory=dict)  # half a character, by output
    replaced_nul: bool = False

    def add(self, events: Iterable[StreamEvent]) -> int:
        """The characters by which it grew: half a character alone waits for its other half."""
        before = self.batch.size
        for event in events:
            if self._is_plain(event):
                self.batch.add(event)
                continue
            for one in self._storable(event):
                self.batch.add(one)
        return self.batch.size - before

    def end(self, ending: Ending) -> None:
        for kind, choice in self.held:
            self.batch.add(StreamEvent(kind, "\ufffd", choice, ending.total_ms or 0.0))
        self.held.clear()
        self.ending = ending

    def taken(self, ending: Ending | None) -> "Line":
        """What there is to write now; the line goes on with an empty batch."""
        batch, self.batch = self.batch, Batch()
        return Line(self.run, self.comparison, self.seq, batch, ending)

    def _is_plain(self, event: StreamEvent) -> bool:
        """A text that is stored as it is, with no half of a character before it."""
        if event.kind not in TEXT_KINDS or self.held:
            return event.kind not in TEXT_KINDS
        data = event.data
        return bool(data) and data.isascii() and "\0" not in data

    def _storable(self, event: StreamEvent) -> list[StreamEvent]:
        """The text as it can be stored; half of a character waits for its other half."""
        key = (event.kind, event.choice)
        text = self.held.pop(key, "") + event.data
        if text and "\ud800" <= text[-1] <= "\udbff":
            self.held[key] = text[-1]
            text = text[:-1]
        events = []
        if "\0" in text and not self.replaced_nul:
            self.replaced_nul = True
            sentence = "The answer contains NUL characters; each is shown as \ufffd."
            events.append(StreamEvent("warning", sentence, -1, event.at))
        if text:
            events.append(event._replace(data=storable(text)))
        return events
