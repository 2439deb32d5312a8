"""Reads a curl command as a POSIX shell and curl would, and refuses what only they could do."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from playground.completion import storable


class BadPaste(ValueError):
    """One sentence: what to paste instead."""


class Word(NamedTuple):
    text: str
    shell: bool = False  # a variable or command of the shell is in it, as it was written


@dataclass
class Command:
    """What a command sends; `headers` in order."""

    url: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: str = ""
    secrets: bool = False  # a login, cookie or certificate was in it


# A $ before a quote is $'…', elsewhere a character; a # begins a comment only where a word begins.
TOKEN = re.compile(
    r"""(?P<joined>\\\r?\n) | (?P<blank>[ \t]+ | (?<!\S)\#[^\n]*)
    | (?P<end>(?:(?<!\S)[0-9])?> | [\n\r;|&<])
    | '(?P<single>[^']*)' | \$'(?P<ansi>(?:\\.|[^'\\])*)' | "(?P<double>(?:\\.|[^"\\])*)"
    | \\(?P<escaped>.) | (?P<plain>(?:[^ \t\r\n'"\\;|&<>$]|\$(?!'))+)""",
    re.X | re.S,
)
EXPANDS = re.compile(r"(?<!\\)(?:\\\\)*(?:\$[A-Za-z_{(0-9@*#?]|`)")
ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "v": 11}
ANSI = re.compile(
    r"\\(?:x(?P<x>[0-9a-fA-F]{1,2})|u(?P<u>[0-9a-fA-F]{1,4})|U(?P<U>[0-9a-fA-F]{1,8})"
    r"|(?P<o>[0-7]{1,3})|(?P<c>.))|(?P<text>[^\\]+)",
    re.S,
)


def words(text: str) -> Iterator[Word]:
    """The words of the first command; BadPaste where a quote stays open."""
    position, word, shell = 0, None, False
    while position < len(text):
        found = TOKEN.match(text, position)
        if found is None:
            raise BadPaste("A quote in the command is never closed; copy the whole command.")
        position, kind = found.end(), found.lastgroup or ""
        if kind in ("blank", "end"):
            if word is not None:
                yield Word(word, shell)
            word, shell = None, False
            if found["end"] == "<":
                raise BadPaste(FROM_FILE)
            if kind == "end":
                return
        elif kind != "joined":
            piece, expands = _piece(kind, found[kind])
            word, shell = (word or "") + piece, shell or expands
    if word is not None:
        yield Word(word, shell)


def _piece(kind: str, raw: str) -> tuple[str, bool]:
    if kind == "ansi":
        return _ansi(raw), False
    if kind == "double":
        return re.sub(r'\\(\r?\n|[$`"\\])', _unquoted, raw, flags=re.S), bool(EXPANDS.search(raw))
    return raw, kind == "plain" and bool(EXPANDS.search(raw))


def _unquoted(match: re.Match[str]) -> str:
    return "" if match[1].endswith("\n") else match[1]


def _ansi(raw: str) -> str:
    """$'…' of bash: `\\x` and octal are bytes, `\\u` and `\\U` are characters."""
    found = bytearray()
    for match in ANSI.finditer(raw):
        if code := match["u"] or match["U"]:
            number = int(code, 16)
            found += chr(number if number < 0x110000 else 0xFFFD).encode("utf-8", "surrogatepass")
        elif match["x"] or match["o"]:
            found.append(int(match["x"], 16) if match["x"] else int(match["o"], 8) & 0xFF)
        elif match["c"] in ESCAPES:
            found.append(ESCAPES[match["c"]])
        elif match["c"]:
            known = match["c"] in "\\'\"?"
            found += (match["c"] if known else f"\\{match['c']}").encode("utf-8", "surrogatepass")
        else:
            found += match["text"].encode("utf-8", "surrogatepass")
    try:
        return storable(found.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError:
        return found.decode("utf-8", "replace")


FROM_FILE = "The body comes from a file or another program; paste the JSON itself."
WINDOWS = "This is a command for Windows (^ at line ends); copy it “as cURL (bash)” instead."
FORM = "This command sends a form or a file, not JSON."
DATA = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json")
LOGIN = ("-u", "--user", "-b", "--cookie", "-E", "--cert", "--key", "--oauth2-bearer")
FORMS = ("-F", "--form", "--form-string", "--data-urlencode", "-T", "--upload-file", "-G", "--get")
IDLE_VALUED = re.compile(  # of no use here, taken together with their value
    "-[AeomxwcyYD]|--(user-agent|referer|output|max-time|connect-timeout|proxy|write-out|retry"
    "|retry-delay|retry-max-time|cacert|capath|cookie-jar|resolve|connect-to|limit-rate|interface"
    "|speed-time|speed-limit|dump-header|max-redirs|ciphers|keepalive-time|stderr|unix-socket)"
)
IDLE = re.compile(
    "-[sSNkLivfgjOq#460]|--(silent|show-error|no-buffer|insecure|location|include|verbose|fail"
    "|fail-with-body|globoff|compressed|progress-bar|ipv[46]|http[0-9.]+|remote-name|raw|tlsv1[.0-9]*"
    "|no-progress-meter|tcp-nodelay|no-keepalive|path-as-is|ssl-no-revoke|fail-early)"
)
WINDOWS_SIGN = re.compile(r"\^[ \t]*\r?\n|^\S+\s+\^\"")
HERE = re.compile(  # a quoted here-document, in which the shell changes nothing
    r"(?:-d|--data(?:-binary)?|--json)\s+@-\s+<<\s*(['\"])(?P<end>\w+)\1[ \t]*\r?\n"
    r"(?P<body>.*?)\r?\n(?P=end)[ \t]*(?=[\r\n]|$)",
    re.S,
)
ASSIGNMENT = r"[A-Za-z_]\w*=\S*\s+"
START = re.compile(rf"(?:[$%]\s+)?(?:{ASSIGNMENT})*curl(?:\.exe)?(?=\s)")


def is_command(text: str) -> bool:
    return START.match(text) is not None


def read_command(text: str) -> Command:
    started = START.match(text)
    if WINDOWS_SIGN.search(text):
        raise BadPaste(WINDOWS)
    command = Command()
    text = text[started.end() :] if started else text
    if here := HERE.search(text):
        command.body = here["body"]
        text = text[: here.start()] + text[here.end() :]
    rest = list(words(text))
    rest.reverse()
    while rest:
        word = rest.pop()
        for option, value in _options(word, rest):
            _apply(option, value, command)
    return command


def _options(word: Word, rest: list[Word]) -> Iterator[tuple[str, Word]]:
    """(option, its value or ""): `-sSXPOST` is three; "" is the option of an address."""
    if not word.text.startswith("-") or word.text == "-":
        yield "", word
        return
    if word.text.startswith("--"):
        yield word.text, _value(word.text, rest) if _takes(word.text) else Word("")
        return
    letters = word.text[1:]
    while letters:
        option, letters = f"-{letters[0]}", letters[1:]
        if _takes(option):
            yield option, Word(letters, word.shell) if letters else _value(option, rest)
            return
        yield option, Word("")


def _takes(option: str) -> bool:
    with_value = ("-H", "--header", "-X", "--request", "--url")
    return option in (*DATA, *LOGIN, *with_value) or bool(IDLE_VALUED.fullmatch(option))


def _value(option: str, rest: list[Word]) -> Word:
    if not rest:
        raise BadPaste(f"After {option} something is missing; copy the whole command.")
    return rest.pop()


def _apply(option: str, value: Word, command: Command) -> None:
    if option in ("", "--url"):
        command.url = _address(value, command.url)
    elif option in DATA:
        command.body += _data(option, value, command.body)
    elif option in ("-H", "--header"):
        name, colon, text = value.text.partition(":")
        if text.strip() or not colon:  # `Name;` is one without a value, `Name:` is left out
            command.headers.append((name.strip().removesuffix(";"), text.strip()))
    elif option in ("-X", "--request"):
        if value.text.upper() != "POST":
            raise BadPaste(f"The command sends {value.text[:20]}; completions are sent with POST.")
    elif option in LOGIN:
        command.secrets = True
    elif option in FORMS:
        raise BadPaste(FORM)
    elif not IDLE.fullmatch(option) and not IDLE_VALUED.fullmatch(option):
        raise BadPaste(f"The option {option[:40]} is not known here; take it out.")


def _address(value: Word, before: str) -> str:
    if before:
        raise BadPaste("The command has two addresses; check its quotes.")
    return value.text


def _data(option: str, value: Word, before: str) -> str:
    if value.text.startswith("@") and option != "--data-raw":
        raise BadPaste(FROM_FILE)
    if value.shell:
        raise BadPaste(
            "The body has a variable or command of the shell in it; put the text itself there, "
            "or use single quotes."
        )
    return ("&" if before and option != "--json" else "") + value.text
