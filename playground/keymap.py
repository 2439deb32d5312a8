"""The keyboard map: the one list of what the keys do.

The sheet of shortcuts (`?`) shows it, and the command palette (Ctrl+K) offers those of its commands
whose control is on the page: an element with `data-command` and the command's name.
"""

from typing import NamedTuple

Keys = tuple[
    str, ...
]  # pressed together, such as ("Ctrl", "Enter"); with "G" first, one after the other


class Command(NamedTuple):
    """`words`: what it does. `keys`: the ways to press it, none for a command of the palette only.
    `name`: of its control on the page, "" where a key has no control to press.
    """

    words: str
    keys: tuple[Keys, ...] = ()
    name: str = ""
    icon: str = "play"


ANYWHERE = (
    Command("Search or jump to", (("Ctrl", "K"),)),
    Command("Keyboard shortcuts", (("?",),), "keys", "keyboard"),
    Command("Focus the search, or the parameter search", (("/",),)),
    Command("Go to Compose", (("G", "C"),)),
    Command("Go to History", (("G", "H"),)),
    Command("Go to Review", (("G", "R"),)),
    Command("Go to Stats", (("G", "S"),)),
    Command("Undo what a message offers to undo", (("U",),)),
    Command("Light, dark or as the system", (), "theme", "theme"),
)
COMPOSE = (
    Command("Run all columns", (("Ctrl", "Enter"), ("Shift", "Enter")), "run"),
    Command("Run this column", (("Alt", "Enter"),)),
    Command("Stop", (("Esc",),)),
    Command("Append the output to the prompt and go on", (("Alt", "A"),), "append", "arrow-down"),
    Command("Undo the last generation in the prompt", (("Alt", "Z"),), "undo-generation", "reset"),
    Command("Preview the next tokens", (("Alt", "G"),), "ghost", "branch"),
    Command("Take the preview; a word of it", (("Tab",), ("Ctrl", "→"))),
    Command("Add a column", (("Alt", "C"),), "add-column", "plus"),
    Command("Close this column", (("Alt", "W"),)),
    Command("Column 1 to 9", (("Alt", "1"),)),
    Command("Move a column up or down", (("Alt", "↑"), ("Alt", "↓"))),
    Command("Fold the parameters", (("Ctrl", "B"),), "fold", "sidebar"),
    Command("View code", (), "code", "code"),
    Command("Paste a request", (), "paste", "clipboard"),
    Command("Presets", (), "presets", "sliders"),
    Command("Drafts", (), "drafts", "clock"),
    Command("New prompt", (), "new", "edit"),
)
OUTPUT = (
    Command("Where columns part", (("D",),), "part", "branch"),
    Command("Previous or next token", (("←",), ("→",))),
    Command("Alternatives of a token", (("Enter",),)),
    Command("Copy the output of the column", (("Y",),)),
    Command("Replay", (("Space",),)),
    Command("Previous or next difference", (("J",), ("K",))),
)
HISTORY = (
    Command("Down, up", (("J",), ("K",))),
    Command("Open", (("Enter",),)),
    Command("Open the record of the run", (("O",),)),
    Command("Put into the form; the draft is kept", (("E",),)),
    Command("One run alone into the form", (("D",),)),
    Command("Run again", (("Shift", "R"),)),
    Command("All that the row can do", (("M",),)),
    Command("Select; up to here", (("X",), ("Shift", "X"))),
    Command("Select all shown; all that match", (("A",), ("Shift", "A"))),
    Command("Clear the selection", (("Esc",),)),
    Command("Compare what is selected", (("C",),)),
    Command("Rate", (("1",), ("5",))),
    Command("Star; in a queue skip", (("S",),)),
    Command("Label", (("L",),)),
    Command("Comment", (("N",),)),
    Command("Visibility", (("V",),)),
    Command("Take from a queue", (("T",),)),
    Command("Move to the trash", (("Delete",),)),
    Command("Undo", (("U",),)),
)
REVIEW = (
    Command("The first is better, the second is better", (("1",), ("2",))),
    Command("Equal, both bad", (("0",), ("-",))),
    Command("Skip", (("S",),)),
    Command("Names are given away", (("G",),)),
    Command("Write a note", (("N",),)),
)
SECTIONS = (
    ("Anywhere", ANYWHERE),
    ("Compose", COMPOSE),
    ("Output", OUTPUT),
    ("History and queues", HISTORY),
    ("Blind panel", REVIEW),
)


def commands() -> list[Command]:
    """Those that the palette can offer."""
    return [each for _, section in SECTIONS for each in section if each.name]
