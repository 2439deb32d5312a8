"""The keyboard map: the one list of what the keys do, and of all that the palette offers.

The sheet of shortcuts (`?`) shows it, and the command palette (Ctrl+K) offers those of its commands
whose control is on the page: an element with `data-command` and the command's name.
"""

from typing import NamedTuple

SMALL = frozenset(("a", "an", "the", "my", "to", "of"))  # words by which the palette finds nothing
Keys = tuple[
    str, ...
]  # pressed together, such as ("Ctrl", "Enter"); with "G" first, one after the other


class Command(NamedTuple):
    """`words`: what it does. `keys`: the ways to press it, none for a command of the palette only.
    `name`: of its control on the page, "" where a key has no control to press. `also`: what else
    people call it; the palette finds it by these words, and does not show them.
    """

    words: str
    keys: tuple[Keys, ...] = ()
    name: str = ""
    icon: str = "play"
    also: str = ""


ANYWHERE = (
    Command("Search or jump to", (("Ctrl", "K"),)),
    Command("Keyboard shortcuts", (("?",),), "keys", "keyboard", "hotkeys help cheat sheet"),
    Command("Focus the search, or the parameter search", (("/",),)),
    Command("Go to Compose", (("G", "C"),), "compose", "edit", "playground editor home write"),
    Command("Go to History", (("G", "H"),), "history", "clock", "past runs search find log"),
    Command(
        "Go to Review", (("G", "R"),), "reviews", "check", "queues rate blind panels vote judge"
    ),
    Command(
        "Go to Stats", (("G", "S"),), "stats", "table", "statistics usage cost spending tokens"
    ),
    Command("Undo what a message offers to undo", (("U",),)),
    Command("Light, dark or as the system", (), "theme", "theme", "theme mode night colours"),
)
COMPOSE = (
    Command(
        "Run all columns",
        (("Ctrl", "Enter"), ("Shift", "Enter")),
        "run",
        also="send submit start generate",
    ),
    Command("Run this column", (("Alt", "Enter"),)),
    Command("Stop", (("Esc",),)),
    Command(
        "Append the output to the prompt and go on",
        (("Alt", "A"),),
        "append",
        "arrow-down",
        "continue",
    ),
    Command(
        "Undo the last generation in the prompt",
        (("Alt", "Z"),),
        "undo-generation",
        "reset",
        "revert",
    ),
    Command("Preview the next tokens", (("Alt", "G"),), "ghost", "branch", "suggest autocomplete"),
    Command("Take the preview; a word of it", (("Tab",), ("Ctrl", "→"))),
    Command("Add a column", (("Alt", "C"),), "add-column", "plus", "compare models side by side"),
    Command("Close this column", (("Alt", "W"),)),
    Command("Column 1 to 9", (("Alt", "1"),)),
    Command("Move a column up or down", (("Alt", "↑"), ("Alt", "↓"))),
    Command(
        "Find a parameter",
        (("Alt", "P"),),
        "find-parameter",
        "search",
        "parameters settings options panel",
    ),
    Command("What a parameter means, in its field", (("F1",),)),
    Command("Fold the parameters", (("Ctrl", "B"),), "fold", "sidebar", "hide settings"),
    Command("View code", (), "code", "code", "export curl python javascript snippet sdk"),
    Command("Paste a request", (), "paste", "clipboard", "import curl json code"),
    Command("Presets", (), "presets", "sliders", "save parameters settings templates"),
    Command("Drafts", (), "drafts", "clock", "saved prompts autosave recover"),
    Command("New prompt, same settings", (), "new", "edit", "clear empty reset"),
    Command("Start over, nothing set", (), "start-over", "reset", "new clear empty blank form"),
)
OUTPUT = (
    Command("Where columns part", (("D",),), "part", "branch", "difference diff"),
    Command("Previous or next token", (("←",), ("→",))),
    Command("Alternatives of a token", (("Enter",),)),
    Command("Copy the output of the column", (("Y",),)),
    Command("Replay", (("Space",),)),
    Command("Previous or next difference", (("J",), ("K",))),
)
HISTORY = (
    Command("Down, up", (("J",), ("K",))),
    Command("Open", (("Enter",),)),
    Command("Open the page of the run", (("O",),)),
    Command("Put into the form; the draft is kept", (("E",),)),
    Command("Put one run alone into the form", (("D",),)),
    Command("Run again", (("Shift", "R"),)),
    Command("Show each run of a row; fold it", (("F",),)),
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
MENUS = (  # without keys: the sheet does not show them
    Command("Admin", (), "admin", "sliders", "settings users people teams limits quotas audit"),
    Command(
        "Connections and keys",
        (),
        "connections",
        "link",
        "api key backends providers models url add",
    ),
    Command(
        "Members and invitations",
        (),
        "team",
        "team",
        "invite add people users roles join team colleague",
    ),
    Command("Switch team", (), "teams", "team", "change another"),
    Command("Labels", (), "labels", "tag", "tags rename merge"),
    Command("Shared links", (), "shares", "link", "publish public revoke"),
    Command("Import runs", (), "import", "arrow-down", "upload restore backup file jsonl csv llm"),
    Command("Export runs", (), "export", "download", "download backup save file jsonl csv sqlite"),
    Command("Trash", (), "trash", "trash", "deleted restore undelete bin retention runs remove"),
    Command("Dark theme", (), "dark", "theme", "mode night black"),
    Command("Light theme", (), "light", "theme", "mode day white"),
    Command("Theme of the system", (), "system", "theme", "mode automatic"),
    Command("Tell me when a long run ends", (), "notify", "clock", "notifications alert"),
    Command("Reference of parameters", (), "reference", "book", "help docs documentation api"),
    Command("Set a password", (), "password", "lock", "change account security"),
    Command("Two-factor login", (), "two-factor", "check", "2fa totp mfa security authenticator"),
    Command("Where you are logged in", (), "sessions", "eye", "sessions devices security"),
    Command("Sign out", (), "logout", "arrow-right", "log out logout leave exit"),
)
SECTIONS = (
    ("Anywhere", ANYWHERE),
    ("Compose", COMPOSE),
    ("Output", OUTPUT),
    ("History and queues", HISTORY),
    ("Blind panel", REVIEW),
    ("", MENUS),
)


def words(typed: str) -> list[str]:
    """What the palette looks for; small words only where there are no others."""
    said = typed.casefold().split()
    return [word for word in said if word not in SMALL] or said


def commands() -> list[Command]:
    """Those that the palette can offer."""
    return [each for _, section in SECTIONS for each in section if each.name]
