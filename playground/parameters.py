"""THE TABLE: every completion parameter of every provider.

Forms, validation, request bodies and headers, help, the reference page and half of the tests are
computed from `PARAMETERS`. To add a parameter, write one `row(...)` in it. Standard library only:
this module knows nothing about Django, HTTP or forms. `model`, `prompt`, `messages` and the key are
no rows; they are fields of `CompletionRequest`.
"""

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from types import EllipsisType
from typing import Any, ClassVar, NamedTuple, NoReturn

OPERATIONS = ("completions", "chat")


class Api(NamedTuple):
    """Which API a request is for; `dialect` is "" but for local backends."""

    provider: str
    dialect: str
    operation: str

    @property
    def key(self) -> str:
        """`local/llama.cpp/completions`, `pulze/chat`."""
        return "/".join(part for part in self if part)


class Status(StrEnum):
    ACCEPTED = "accepted"
    EXTENSION = "extension"  # accepted, and not in OpenAI's API
    COMING_SOON = "coming_soon"  # documented as not yet available
    FORWARDED = "forwarded"  # not modelled, passed on to the model server
    IGNORED = "ignored"
    REFUSED = "refused"
    UNESTABLISHED = "unestablished"


# Kinds: what a value is, its bounds, how it is typed.


class Kind(ABC):
    widget: ClassVar[str]

    @property
    @abstractmethod
    def types(self) -> tuple[str, ...]:
        """JSON types as the reference page prints them: `integer`, `array<string>`, …"""

    @abstractmethod
    def clean(self, raw: object) -> Any:
        """The JSON value meant by `raw`, which is a JSON value or the text typed in a form.

        ValueError says in one sentence what to type instead.
        """

    @abstractmethod
    def text(self, value: Any) -> str:
        """How `value` is typed again: `clean(text(value)) == value`."""

    def outside(self, value: Any) -> str | None:
        """A sentence if `value` lies outside what is documented ("Send anyway" overrides it)."""
        return None


NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"([+-]?[0-9]+)(\.0*)?")


def _number(raw: object) -> int | float:
    """The number meant by `raw`; an integer stays one ("0" is 0, not 0.0)."""
    wanted = "Type a number, for example 0.7."
    if isinstance(raw, str):
        typed = raw.strip()
        if re.fullmatch(r"[+-]?[0-9]*,[0-9]+", typed):
            raise ValueError("Use a point as the decimal sign: 0.7, not 0,7.")
        if not NUMBER.fullmatch(typed):
            raise ValueError(wanted)
        raw = _int(typed) if re.fullmatch(r"[+-]?[0-9]+", typed) else float(typed)
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise ValueError(wanted)
    if isinstance(raw, float) and not math.isfinite(raw):
        raise ValueError("Type a finite number.")
    return raw


def _int(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python refuses more than 4300 digits
        raise ValueError("Type a number with fewer digits.") from None


def _bounds(value: Any, low: float | None, high: float | None, above: bool = False) -> str | None:
    if low is not None and above and value <= low:
        return f"The documented range is above {low}."
    if low is not None and high is not None and not low <= value <= high:
        return f"The documented range is {low} to {high}."
    if low is not None and value < low:
        return f"The documented minimum is {low}."
    if high is not None and value > high:
        return f"The documented maximum is {high}."
    return None


@dataclass(frozen=True)
class Integer(Kind):
    minimum: int | None = None
    maximum: int | None = None
    slider: tuple[int, int] | None = None  # the range input's ends where the bounds are open

    widget: ClassVar[str] = "number"
    types = ("integer",)

    def clean(self, raw: object) -> int:
        wanted = "Type a whole number, for example 512."
        if isinstance(raw, str):
            whole = WHOLE.fullmatch(raw.strip())
            if whole is None:
                raise ValueError(wanted)
            return _int(whole[1])
        if isinstance(raw, float) and raw.is_integer():
            return int(raw)
        if isinstance(raw, bool) or not isinstance(raw, int):
            raise ValueError(wanted)
        return raw

    def outside(self, value: Any) -> str | None:
        return _bounds(value, self.minimum, self.maximum)

    def text(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True)
class Float(Kind):
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    step: float = 0.01
    slider: tuple[float, float] | None = None

    widget: ClassVar[str] = "number"
    types = ("number",)

    def clean(self, raw: object) -> int | float:
        return _number(raw)

    def outside(self, value: Any) -> str | None:
        return _bounds(value, self.minimum, self.maximum, self.exclusive_minimum)

    def text(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True)
class Flag(Kind):
    widget: ClassVar[str] = "flag"
    types = ("boolean",)

    def clean(self, raw: object) -> bool:
        if isinstance(raw, bool):
            return raw
        typed = raw.strip().lower() if isinstance(raw, str) else ""
        if typed not in ("true", "on", "false", "off"):
            raise ValueError("Choose true or false.")
        return typed in ("true", "on")

    def text(self, value: Any) -> str:
        return "true" if value else "false"


@dataclass(frozen=True)
class Text(Kind):
    multiline: bool = False

    widget: ClassVar[str] = "text"
    types = ("string",)

    def clean(self, raw: object) -> str:
        if not isinstance(raw, str):
            raise ValueError("Type text.")
        return raw

    def text(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True)
class Option(Kind):
    """One of `choices`; another text is only outside what is documented."""

    choices: tuple[str, ...] = ()

    widget: ClassVar[str] = "option"
    types = ("string",)

    def clean(self, raw: object) -> str:
        return Text().clean(raw)

    def text(self, value: Any) -> str:
        return str(value)

    def outside(self, value: Any) -> str | None:
        return _choice(value, self.choices)


def _choice(value: object, choices: tuple[str, ...]) -> str | None:
    if not choices or value in choices:
        return None
    return f"“{value}” is not among the documented values: {', '.join(choices)}."


ESCAPE = re.compile(
    r"\\(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<c>.?))", re.S
)
HALF = re.compile("[\ud800-\udfff]")
NAMED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def _unescape(match: re.Match[str]) -> str:
    code = match["x"] or match["u"] or match["U"]
    if code and (int(code, 16) > 0x10FFFF or 0xD800 <= int(code, 16) <= 0xDFFF):
        raise ValueError(f"{match[0]} is not a character; type the character itself.")
    if code:
        return chr(int(code, 16))
    if match["c"] not in NAMED:
        raise ValueError(
            f"“{match[0]}” is not a known escape: use \\n, \\t, \\r, \\xHH or \\uHHHH,"
            " and \\\\ for a backslash."
        )
    return NAMED[match["c"]]


def _escape(text: str, everything: bool = False) -> str:
    escapes = {value: f"\\{name}" for name, value in NAMED.items()}
    return "".join(
        escapes.get(char) or (char if char.isprintable() and not everything else _code(ord(char)))
        for char in text
    )


def _code(code: int) -> str:
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


@dataclass(frozen=True)
class TextList(Kind):
    """A JSON list of strings, typed one per line with backslash escapes."""

    single: bool = False  # the API takes one string as well; the playground always sends a list
    choices: tuple[str, ...] = ()  # documented items
    item: str = "item"  # what one item is called in messages

    widget: ClassVar[str] = "list"

    @property
    def types(self) -> tuple[str, ...]:
        return ("string", "array<string>") if self.single else ("array<string>",)

    def clean(self, raw: object) -> list[str]:
        if isinstance(raw, str):
            found = [self._line(line) for line in re.split(r"\r\n|\n|\r", raw) if line]
        elif isinstance(raw, list) and all(isinstance(item, str) for item in raw):
            found = list(raw)
        else:
            raise ValueError("Type a list of texts, one per line.")
        if "" in found:
            raise ValueError(f"Remove the empty {self.item} from the list.")
        if any(map(HALF.search, found)):
            raise ValueError(f"One {self.item} holds half a character; type it again.")
        return found

    def _line(self, line: str) -> str:
        if line.isspace():
            raise ValueError(
                f"A line holds only spaces: write each space of this {self.item} as \\x20,"
                " or remove the line."
            )
        return ESCAPE.sub(_unescape, line)

    def outside(self, value: Any) -> str | None:
        return next(filter(None, (_choice(item, self.choices) for item in value)), None)

    def text(self, value: Any) -> str:
        return "\n".join(_escape(item, everything=item.isspace()) for item in value)


LEVELS = 100  # of nesting; far below where writing the value again would overflow the stack
TOO_DEEP = f"The JSON is nested too deeply: at most {LEVELS} levels."


def _parse(text: str) -> Any:
    """JSON as strict as the providers' parsers: no NaN, no duplicate keys."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"The key “{twice}” occurs twice: remove one.")
        return found

    def no_constant(name: str) -> NoReturn:
        raise ValueError(f"JSON has no {name}: type a finite number.")

    try:
        value = json.loads(
            text,
            object_pairs_hook=members,
            parse_constant=no_constant,
            parse_float=_number,
            parse_int=_int,
        )
    except json.JSONDecodeError as error:
        raise ValueError(_json_error(text, error)) from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if not _fits(value, LEVELS):
        raise ValueError(TOO_DEEP)
    return value


def _fits(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_fits(each, levels - 1) for each in inner)


def _json_error(text: str, error: json.JSONDecodeError) -> str:
    where = f"Line {error.lineno} is not valid JSON: "
    if error.pos >= len(text.rstrip()):
        return f"{where}it ends too early; close every quote, brace and bracket."
    before, after = text[: error.pos].rstrip(), text[error.pos :].lstrip()
    if after[0] in "}]" and before.endswith(","):
        return f"{where}remove the comma before “{after[0]}”."
    if after[0] == "," and after[1:].lstrip()[:1] in ("}", "]"):
        return f"{where}remove the comma before “{after[1:].lstrip()[0]}”."
    if error.msg.startswith("Invalid control character"):
        return f"{where}write the line break or tab inside quotes as \\n or \\t."
    what = (error.msg[0].lower() + error.msg[1:]).removesuffix(" at")
    return f"{where}{what} at column {error.colno}."


SURROGATE = re.compile("[\ud800-\udfff]")


def _dump(value: Any) -> str:
    """JSON to edit; an unpaired surrogate stays an escape, so that a page can carry it."""
    typed = json.dumps(value, ensure_ascii=False, indent=2)
    return SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", typed)


@dataclass(frozen=True)
class TokenBias(Kind):
    """`{"50256": -100}`: token id (or, with `text_keys`, token text) → number."""

    minimum: float = -100
    maximum: float = 100
    text_keys: bool = False

    widget: ClassVar[str] = "bias"
    types = ("object",)

    def clean(self, raw: object) -> dict[str, int | float]:
        value = _parse(raw) if isinstance(raw, str) else raw
        if not isinstance(value, dict):
            raise ValueError('Type a JSON object such as {"50256": -100}.')
        return {self._key(key): self._bias(key, bias) for key, bias in value.items()}

    def _key(self, key: object) -> str:
        if not isinstance(key, str) or not (self.text_keys or re.fullmatch("[0-9]+", key)):
            raise ValueError(f"The key “{key}” must be a token number such as 50256.")
        return key

    def _bias(self, key: object, bias: object) -> int | float:
        number = isinstance(bias, int | float) and not isinstance(bias, bool)
        if not number or not self.minimum <= bias <= self.maximum:  # type: ignore[operator]
            raise ValueError(
                f"The value of “{key}” must be a number from {self.minimum} to {self.maximum}."
            )
        return bias  # type: ignore[return-value]

    def text(self, value: Any) -> str:
        return _dump(value)


class Member(NamedTuple):
    """Documents one part of a JSON value; `name` is its full path, `tools[].function.name`."""

    name: str
    types: tuple[str, ...] = ("string",)
    nullable: bool | None = None
    minimum: float | None = None
    maximum: float | None = None
    enum: tuple[str, ...] = ()
    note: str = ""
    default: object = None
    required: bool = False

    def values(self, root: Any) -> Iterator[Any]:
        """Every value in `root` at this member's place."""
        found = [root]
        for step in re.findall(r"\[\]|\.[^.\[]+", self.name):
            if step == "[]":
                found = [item for value in found if isinstance(value, list) for item in value]
            else:
                key = step[1:]
                found = [v[key] for v in found if isinstance(v, dict) and key in v]
        return iter(found)


SHAPES: dict[str, tuple[str, type]] = {"object": ("object", dict), "array": ("list", list)}
ITEMS: dict[str, tuple[str, type]] = {
    "object": ("a JSON object", dict),
    "integer": ("a whole number", int),
    "string": ("a text in quotes", str),
    "array<any>": ("a list", list),
}


@dataclass(frozen=True)
class Json(Kind):
    shape: str = "object"  # or "array" or "any"
    members: tuple[Member, ...] = ()
    items: str = ""  # of an array: the JSON type of each item, "" for any

    widget: ClassVar[str] = "json"

    @property
    def types(self) -> tuple[str, ...]:
        return (f"array<{self.items or 'any'}>" if self.shape == "array" else self.shape,)

    def clean(self, raw: object) -> Any:
        value: Any = _parse(raw if isinstance(raw, str) else self._encoded(raw))
        name, shape = SHAPES.get(self.shape, ("", object))
        if not isinstance(value, shape):
            raise ValueError(f"Type a JSON {name}, in {'{ }' if shape is dict else '[ ]'}.")
        if self.items and isinstance(value, list):
            wanted, item_type = ITEMS[self.items]
            for number, item in enumerate(value, start=1):
                if not isinstance(item, item_type) or isinstance(item, bool):
                    raise ValueError(f"Item {number} of the list must be {wanted}.")
        return value

    def _encoded(self, raw: object) -> str:
        try:
            return json.dumps(raw, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise ValueError("Type JSON; numbers must be finite.") from None

    def outside(self, value: Any) -> str | None:
        for member in self.members:
            for found in member.values(value):
                said = self._member_outside(member, found)
                if said:
                    return f"{member.name}: {said}"
        return None

    def _member_outside(self, member: Member, value: Any) -> str | None:
        if isinstance(value, str):
            return _choice(value, member.enum)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _bounds(value, member.minimum, member.maximum)
        return None

    def text(self, value: Any) -> str:
        return _dump(value)


@dataclass(frozen=True, init=False)
class Either(Kind):
    """An API that takes two types; the first kind that takes the value counts."""

    kinds: tuple[Kind, ...]

    widget: ClassVar[str] = "text"

    def __init__(self, *kinds: Kind) -> None:
        object.__setattr__(self, "kinds", kinds)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(name for kind in self.kinds for name in kind.types)

    @property
    def multiline(self) -> bool:
        return any(isinstance(kind, Json | TokenBias) for kind in self.kinds)

    def _taken(self, raw: object) -> tuple[Kind, Any]:
        kinds: Iterable[Kind] = self.kinds
        if isinstance(raw, str) and self.multiline and raw.lstrip()[:1] in ("{", "["):
            kinds = [kind for kind in kinds if not isinstance(kind, Text | Option)]  # JSON is meant
        refusals = []
        for kind in kinds:
            try:
                return kind, kind.clean(raw)
            except ValueError as error:
                refusals.append(error)
        raise refusals[0]

    def clean(self, raw: object) -> Any:
        return self._taken(raw)[1]

    def outside(self, value: Any) -> str | None:
        return self._taken(value)[0].outside(value)

    def text(self, value: Any) -> str:
        return self._taken(value)[0].text(value)


# Rows: how each API takes a parameter.


@dataclass(frozen=True)
class Support:
    """How one API takes a parameter."""

    status: Status
    name: str  # the wire path there
    kind: Kind  # with the bounds there
    default: object = None  # documented and shown, never sent; None: none documented
    nullable: bool | None = None  # None: not established
    note: str = ""
    source: str = ""
    unset: str = ""  # what holds where it is not sent, as far as that surprises; no sentence


@dataclass(frozen=True)
class Parameter:
    path: str  # "temperature", "stream_options.include_usage", "Pulze-Weights.cost"
    kind: Kind
    label: str
    help: str
    group: str
    supports: Mapping[Api, Support]
    header: bool = False

    def support(self, api: Api) -> Support | None:
        """None: not in that API's schema.

        A local backend whose fields are not established may take whatever another one has. A new
        provider follows OpenAI's API, which OGX models field by field, but for rows of its own.
        """
        if api in self.supports:
            return self.supports[api]
        if api in ESTABLISHED:
            return None
        if api.provider == "local":
            known = (self.supports.get(each) for each in LOCAL if each.operation == api.operation)
            like = next((support for support in known if support), None)
            if like is None:
                return None
            note = "Whether this backend takes it is not established."
            unset = OWN_DEFAULT if like.unset else ""
            return Support(UNESTABLISHED, self.path, like.kind, note=note, unset=unset)
        like = self.supports.get(Api("ogx", "", api.operation))
        if like is None or like.status is not ACCEPTED:
            return None
        return replace(like, note="", source="OpenAI's API")


def _apis(provider: str, dialect: str = "") -> tuple[Api, ...]:
    return tuple(Api(provider, dialect, operation) for operation in OPERATIONS)


PULZE = PULZE_COMPLETIONS, PULZE_CHAT = _apis("pulze")
OCTOAI = OCTOAI_COMPLETIONS, OCTOAI_CHAT = _apis("octoai")
OGX = OGX_COMPLETIONS, OGX_CHAT = _apis("ogx")
LLAMA = LLAMA_COMPLETIONS, LLAMA_CHAT = _apis("local", "llama.cpp")
VLLM = VLLM_COMPLETIONS, VLLM_CHAT = _apis("local", "vllm")
OLLAMA = OLLAMA_COMPLETIONS, OLLAMA_CHAT = _apis("local", "ollama")
LM_STUDIO = Api("local", "lmstudio", "chat")  # its completions fields are not established
LOCAL = (*LLAMA, *VLLM, *OLLAMA, LM_STUDIO)
ESTABLISHED = frozenset((*PULZE, *OCTOAI, *OGX, *LOCAL))

# Where not every form is documented; Ollama answers 400 to a list.
PROMPT_FORMS = {
    PULZE_COMPLETIONS: frozenset(("text", "list")),
    OLLAMA_COMPLETIONS: frozenset(("text",)),
}
# What answers 4xx to a request without a model; others take their own, or it is not established.
WANT_MODEL = frozenset((*OCTOAI, *OGX, OLLAMA_COMPLETIONS, OLLAMA_CHAT))
SOURCES = {
    PULZE_COMPLETIONS: "docs.pulze.ai: POST /v1/completions",
    PULZE_CHAT: "docs.pulze.ai: POST /v1/chat/completions",
    OCTOAI_COMPLETIONS: "OctoAI text API 0.1: POST /v1/completions",
    OCTOAI_CHAT: "OctoAI text API 0.1: POST /v1/chat/completions",
    **dict.fromkeys(OGX, "PyPI ogx 1.5.0: inference models"),
    **dict.fromkeys(LLAMA, "https://github.com/ggml-org/llama.cpp/tree/master/tools/server"),
    **dict.fromkeys(VLLM, "https://github.com/vllm-project/vllm: protocol.py, sampling_params.py"),
    **dict.fromkeys(OLLAMA, "https://github.com/ollama/ollama: openai/openai.go"),
    LM_STUDIO: "https://lmstudio.ai/docs: chat completions",
}
TITLES = {"pulze": "Pulze", "octoai": "OctoAI", "ogx": "OGX", "llama.cpp": "llama.cpp"}
TITLES |= {"vllm": "vLLM", "ollama": "Ollama", "lmstudio": "LM Studio"}
OWN_DEFAULT = "the server's own default"  # of `unset`
NOTES = {
    Status.COMING_SOON: "{} documents it as not yet available.",
    Status.FORWARDED: "{} passes it on to the model server unchanged.",
    Status.IGNORED: "Ignored by {}.",
    Status.REFUSED: "Refused by {}.",
}


class On(NamedTuple):
    """How some APIs take the row it stands in; what is left out comes from the row or the API."""

    apis: tuple[Api, ...]
    status: Status
    kind: Kind | None
    default: object
    nullable: bool | EllipsisType | None
    note: str
    name: str
    source: str
    unset: str

    def support(self, api: Api, path: str, kind: Kind) -> Support:
        title = TITLES.get(api.dialect or api.provider, api.provider)
        nullable = self.nullable
        if isinstance(nullable, EllipsisType):  # as a rule the whole schema of an API does the same
            unknown = path.startswith("Pulze-") or self.status is Status.FORWARDED
            nullable = None if unknown or api == LM_STUDIO else api not in OCTOAI
        return Support(
            status=self.status,
            name=self.name or path,
            kind=_with_slider(self.kind or kind, kind),
            default=self.default,
            nullable=nullable,
            note=self.note or NOTES.get(self.status, "").format(title),
            source=self.source or SOURCES.get(api, ""),
            unset=self.unset.format(default=self.default),
        )


def _with_slider(kind: Kind, general: Kind) -> Kind:
    """`kind` with the general kind's slider, cut to its own bounds."""
    if not (isinstance(kind, Integer | Float) and isinstance(general, Integer | Float)):
        return kind
    if kind.slider or not general.slider:
        return kind
    low = general.slider[0] if kind.minimum is None else kind.minimum
    high = general.slider[1] if kind.maximum is None else kind.maximum
    return replace(kind, slider=(low, high))  # type: ignore[arg-type]


def on(
    apis: Api | tuple[Api, ...],
    status: Status = Status.ACCEPTED,
    kind: Kind | None = None,
    *,
    default: object = None,
    nullable: bool | EllipsisType | None = ...,
    note: str = "",
    name: str = "",
    source: str = "",
    unset: str = "",
) -> On:
    """`unset` may name `{default}`."""
    each = (apis,) if isinstance(apis, Api) else apis
    return On(each, status, kind, default, nullable, note, name, source, unset)


def row(
    path: str, kind: Kind, group: str, label: str, help: str, *supports: On, header: bool = False
) -> Parameter:
    """A row of the table; a later `on` replaces an earlier one for the same API."""
    found = {api: each.support(api, path, kind) for each in supports for api in each.apis}
    return Parameter(path, kind, label, help, group, found, header)


def prompt_forms(api: Api) -> frozenset[str]:
    """What a completions prompt may be: `text`, `list` (of texts), `ids` (token ids, or lists)."""
    if api.operation != "completions":
        return frozenset()
    return PROMPT_FORMS.get(api, frozenset(("text", "list", "ids")))


def parameter(path: str) -> Parameter:
    """KeyError for an unknown path."""
    for each in PARAMETERS:
        if each.path == path:
            return each
    raise KeyError(path)


@lru_cache(maxsize=64)
def for_api(api: Api) -> tuple[tuple[Parameter, Support], ...]:
    """What `api` has, in form order."""
    found = ((each, each.support(api)) for each in PARAMETERS)
    return tuple((each, support) for each, support in found if support is not None)


def common() -> list[str]:
    """Paths of the rows in the groups that are COMMON."""
    return [each.path for each in PARAMETERS if each.group in COMMON]


def register(added: Parameter) -> None:
    """Adds a row at run time; ValueError if its path is taken."""
    if any(each.path == added.path for each in PARAMETERS):
        raise ValueError(f"{added.path} is in the table already")
    PARAMETERS.append(added)
    for_api.cache_clear()


def unregister(path: str) -> None:
    PARAMETERS.remove(parameter(path))
    for_api.cache_clear()


def extend(path: str, *supports: On) -> None:
    """Says at run time how further APIs take a row; KeyError for an unknown path."""
    position = PARAMETERS.index(parameter(path))
    known = PARAMETERS[position]
    added = {api: each.support(api, path, known.kind) for each in supports for api in each.apis}
    PARAMETERS[position] = replace(known, supports={**known.supports, **added})
    for_api.cache_clear()


def withdraw(provider: str) -> None:
    """Takes back what the rows say of a provider."""
    for position, known in enumerate(PARAMETERS):
        kept = {api: each for api, each in known.supports.items() if api.provider != provider}
        if len(kept) < len(known.supports):
            PARAMETERS[position] = replace(known, supports=kept)
    for_api.cache_clear()


# The facts.

ACCEPTED, EXTENSION, COMING_SOON, FORWARDED, IGNORED, REFUSED, UNESTABLISHED = Status
SAMPLING, LENGTH, PENALTIES, OUTPUT, TOOLS, ROUTING, SAMPLERS, ADVANCED = GROUPS = (
    "Sampling",
    "Length & stop",
    "Penalties",
    "Output",
    "Tools & format",
    "Routing",
    "More samplers",
    "Advanced",
)
COMMON = (SAMPLING, LENGTH, PENALTIES)  # what people vary: a column each in a table of runs

OBJECT, STRINGS = ("object",), ("array<string>",)
TOOL_MEMBERS = (
    Member("tools[].type", nullable=False, enum=("function",)),
    Member("tools[].function", OBJECT, required=True),
    Member("tools[].function.name", nullable=False, required=True),
    Member("tools[].function.description", nullable=True),
    Member("tools[].function.parameters", OBJECT, note="A JSON schema.", required=True),
    Member("tools[].function.parameters.type", nullable=False, enum=("object",)),
    Member("tools[].function.parameters.properties", OBJECT, nullable=False, required=True),
    Member("tools[].function.parameters.required", STRINGS, nullable=True, required=True),
)
OCTOAI_TOOL_MEMBERS = (
    Member("tools[].type", nullable=False, enum=("function",), default="function"),
    Member("tools[].function", OBJECT, nullable=False, required=True),
    Member("tools[].function.name", nullable=False, required=True),
    Member("tools[].function.description", nullable=False, default=""),
    Member("tools[].function.parameters", OBJECT, nullable=False, note="A JSON schema."),
)
CHOICE_MEMBERS = (
    Member("tool_choice.type", nullable=True, enum=("function", "json_object")),
    Member("tool_choice.function", OBJECT, note="Needed when type is function."),
    Member("tool_choice.function.name", nullable=False, required=True),
)
OCTOAI_CHOICE_MEMBERS = (
    Member("tool_choice.type", nullable=False, enum=("function",), default="function"),
    Member("tool_choice.function", OBJECT, nullable=False, required=True),
    Member("tool_choice.function.name", nullable=False, required=True),
)
OLDER_LLAMA = "Ignored by llama.cpp; older builds answer with an error."
JSON_WORD = "The prompt must contain the word JSON."
PULZE_FORMATS, OGX_FORMATS = ("text", "json_object"), ("text", "json_schema", "json_object")
SCHEMA = "response_format.json_schema"
FORMAT_MEMBERS = (
    Member("response_format.type", nullable=False, enum=OGX_FORMATS, required=True),
    Member(SCHEMA, OBJECT, nullable=False, note="Required when type is json_schema."),
    Member(f"{SCHEMA}.name", nullable=False),
    Member(f"{SCHEMA}.description", nullable=True),
    Member(f"{SCHEMA}.strict", ("boolean",), nullable=True),
    Member(f"{SCHEMA}.schema", OBJECT, nullable=True),
)
OCTOAI_FORMAT_MEMBERS = (
    Member("response_format.type", nullable=False, required=True),
    Member("response_format.schema", OBJECT, nullable=True),
)


def _chosen(choices: tuple[str, ...] = (), members: tuple[Member, ...] = ()) -> Either:
    return Either(Json(members=members), Option(choices))


def _loose(members: tuple[Member, ...]) -> tuple[Member, ...]:
    """The same members where nullability is not established (Pulze's chat page)."""
    return tuple(member._replace(nullable=None) for member in members)


def _format(nullable: bool | None) -> Json:
    name = "response_format.type"
    return Json(members=(Member(name, nullable=nullable, enum=PULZE_FORMATS, required=True),))


# Kept dense by hand: path, kind where no bounds are known, group, label, help, who takes it how.
# fmt: off
PARAMETERS: list[Parameter] = [
    row("temperature", Float(slider=(0, 2)), SAMPLING, "Temperature",
        "How freely the next token is drawn: 0 takes the likeliest one, higher values vary more.",
        on(PULZE, kind=Float(0, 1), default=1, note="Left out, Pulze chooses it."),
        on(OCTOAI, kind=Float(0, 2), default=1), on(OGX, kind=Float(0, 2)),
        on(LLAMA, default=0.8, note="Values below 0 count as 0."),
        on(VLLM, kind=Float(0, 2), default=1.0, note="The model's own default goes first."),
        on(OLLAMA, default=1.0), on(LM_STUDIO)),
    row("top_p", Float(slider=(0, 1)), SAMPLING, "Top p",
        "Draws only from the likeliest tokens whose probabilities add up to this; 1 means all.",
        on(PULZE_COMPLETIONS, kind=Float(0, 1), default=1), on(PULZE_CHAT, default=1),
        on(OCTOAI, kind=Float(0, 1, exclusive_minimum=True), default=1), on(OGX, kind=Float(0, 1)),
        on(LLAMA, default=0.95), on(VLLM, kind=Float(0, 1, exclusive_minimum=True), default=1.0),
        on(OLLAMA_COMPLETIONS, default=1.0, note="0 counts as 1."), on(OLLAMA_CHAT, default=1.0),
        on(LM_STUDIO)),
    row("top_k", Integer(slider=(0, 200)), SAMPLING, "Top k",
        "Draws only from this many likeliest tokens; 0 means all.",
        on(OGX, FORWARDED), on(LLAMA, EXTENSION, default=40), on(OLLAMA, IGNORED),
        on(VLLM, EXTENSION, Integer(-1), default=0, note="-1 means all as well."),
        on(LM_STUDIO, EXTENSION)),
    row("min_p", Float(slider=(0, 1)), SAMPLING, "Min p",
        "Drops tokens less likely than this share of the likeliest one; 0 means off.",
        on(OCTOAI, EXTENSION, Float(0, 1), default=0), on(OGX, FORWARDED),
        on(LLAMA, EXTENSION, default=0.05), on(VLLM, EXTENSION, Float(0, 1), default=0),
        on(OLLAMA, IGNORED)),
    row("seed", Integer(), SAMPLING, "Seed",
        "The same seed with the same settings gives the same draw, as far as the server can.",
        on(OCTOAI_COMPLETIONS, default=0), on((*OGX, *OLLAMA, LM_STUDIO)),
        on(LLAMA, default=-1, note="-1 means a random seed."),
        on(VLLM, note="At most 64 bits; -1 means no seed.")),
    row("max_tokens", Integer(slider=(1, 4096)), LENGTH, "Max tokens",
        "The most tokens that the output may have.",
        on(PULZE, unset="the model's own default"),
        on(OCTOAI, kind=Integer(1), default=512, unset="{default} tokens"),
        on(OGX, kind=Integer(1), unset="the default of the server behind it"),
        on(LLAMA, default=-1, note="-1 means no limit.", unset="no limit but the context"),
        on(VLLM_COMPLETIONS, kind=Integer(1), default=16, note="0 is allowed only with echo.",
           unset="{default} tokens"),
        on(VLLM_CHAT, unset="no limit but the context"),
        on((*OLLAMA, LM_STUDIO), unset=OWN_DEFAULT)),
    row("max_completion_tokens", Integer(slider=(1, 4096)), LENGTH, "Max completion tokens",
        "The newer name of max tokens on chat; hidden reasoning counts too.",
        on(OGX_COMPLETIONS, FORWARDED), on(OGX_CHAT, kind=Integer(1)),
        on(LLAMA_COMPLETIONS, EXTENSION, default=-1, note="The same as n_predict."),
        on(LLAMA_CHAT, default=-1, note="The same as n_predict."), on(VLLM_CHAT),
        on((VLLM_COMPLETIONS, *OLLAMA), IGNORED)),
    row("min_tokens", Integer(slider=(0, 512)), LENGTH, "Min tokens",
        "No stop sequence and no end of text counts before this many tokens.",
        on(OGX, FORWARDED), on((*LLAMA, *OLLAMA), IGNORED),
        on(VLLM, EXTENSION, default=0, nullable=False)),
    row("stop", TextList(single=True, item="stop sequence"), LENGTH, "Stop sequences",
        "The output ends before the first of these texts. One per line; \\n is a line break.",
        on(PULZE, default="", nullable=None), on(OCTOAI, nullable=True),
        on((*OGX, *OLLAMA, LM_STUDIO)), on((*LLAMA, *VLLM), default=[])),
    row("ignore_eos", Flag(), LENGTH, "Ignore end of text",
        "Goes on after the model's end-of-text token, until max tokens or a stop sequence.",
        on((*OCTOAI, *VLLM), EXTENSION, default=False, nullable=False), on(OGX, FORWARDED),
        on(LLAMA, EXTENSION, default=False), on(OLLAMA, IGNORED)),
    row("presence_penalty", Float(slider=(-2, 2)), PENALTIES, "Presence penalty",
        "Above 0 makes tokens that occurred already less likely, below 0 more likely.",
        on((*PULZE, *OCTOAI, *VLLM), kind=Float(-2, 2), default=0), on(OGX, kind=Float(-2, 2)),
        on(LLAMA, default=0), on(OLLAMA_COMPLETIONS, default=0), on((OLLAMA_CHAT, LM_STUDIO))),
    row("frequency_penalty", Float(slider=(-2, 2)), PENALTIES, "Frequency penalty",
        "Above 0 makes a token less likely the more often it occurred, below 0 more likely.",
        on((*PULZE, *OCTOAI, *VLLM), kind=Float(-2, 2), default=0), on(OGX, kind=Float(-2, 2)),
        on(LLAMA, default=0), on(OLLAMA_COMPLETIONS, default=0), on((OLLAMA_CHAT, LM_STUDIO))),
    row("repetition_penalty", Float(slider=(0.5, 2)), PENALTIES, "Repetition penalty",
        "Above 1 makes repeated tokens less likely, below 1 more likely; 1 means off.",
        on(OCTOAI, EXTENSION, Float(0, exclusive_minimum=True, slider=(0.5, 2)), default=1.0),
        on(VLLM, EXTENSION, Float(0, exclusive_minimum=True, slider=(0.5, 2)), default=1.0),
        on(LLAMA, EXTENSION, default=1.0, name="repeat_penalty", note="Sent as repeat_penalty."),
        on(LM_STUDIO, EXTENSION, name="repeat_penalty", note="Sent as repeat_penalty."),
        on(OGX, FORWARDED), on(OLLAMA, IGNORED)),
    row("repeat_penalty", Float(slider=(0.5, 2)), PENALTIES, "Repeat penalty",
        "llama.cpp's name of the repetition penalty, for model servers behind another one.",
        on(OGX, FORWARDED), on(OLLAMA, IGNORED),
        on(VLLM, IGNORED, note="Ignored by vLLM, which calls it repetition_penalty.")),
    row("logit_bias", TokenBias(), PENALTIES, "Logit bias",
        'Raises or lowers single tokens: {"50256": -100} bans token 50256, 100 forces it.',
        on(PULZE, COMING_SOON), on(OCTOAI, nullable=True), on((*OGX, *VLLM, LM_STUDIO)),
        on(LLAMA, kind=Either(TokenBias(text_keys=True), Json("array", items="array<any>")),
           default=[], note="Keys may be the text of tokens too; a list of pairs works as well."),
        on(OLLAMA, IGNORED)),
    row("bad_words", TextList(item="word"), PENALTIES, "Banned words",
        "Words that the output must not contain, one per line.",
        on(VLLM, EXTENSION, default=[], nullable=False)),
    row("allowed_token_ids", Json("array", items="integer"), PENALTIES, "Allowed token ids",
        "Only these token numbers may occur in the output.",
        on(VLLM, EXTENSION)),

    row("n", Integer(slider=(1, 8)), OUTPUT, "Choices",
        "How many outputs to make; each costs its own tokens.",
        on((*PULZE, *OCTOAI), kind=Integer(1), default=1), on(OGX, kind=Integer(1)),
        on(LLAMA, kind=Integer(1), default=1, note="At most the server's number of slots."),
        on(VLLM_COMPLETIONS, kind=Integer(1, 16384, (1, 8)), default=1, nullable=False,
           note="Above 1 needs a temperature above 0."),
        on(VLLM_CHAT, kind=Integer(1, 16384, (1, 8)), default=1,
           note="Above 1 needs a temperature above 0."), on(OLLAMA, IGNORED)),
    row("best_of", Integer(slider=(1, 8)), OUTPUT, "Best of",
        "Makes this many outputs and returns the n likeliest; you pay for all of them.",
        on(PULZE, kind=Integer(1), default=1), on(OGX_CHAT, FORWARDED),
        on(OCTOAI_COMPLETIONS, default=1, note="At least n."),
        on(OGX_COMPLETIONS, kind=Integer(1)), on(LLAMA, IGNORED, note=OLDER_LLAMA),
        on((*VLLM, *OLLAMA), IGNORED)),
    row("echo", Flag(), OUTPUT, "Echo the prompt",
        "Returns the prompt in front of the output.",
        on(OCTOAI_COMPLETIONS, default=False), on(OGX_CHAT, FORWARDED),
        on(OGX_COMPLETIONS, note="The effect depends on the model server."),
        on(LLAMA_COMPLETIONS, IGNORED, note=OLDER_LLAMA),
        on(VLLM_COMPLETIONS, default=False, note="With logprobs the prompt's tokens come too."),
        on(VLLM_CHAT, EXTENSION, default=False, nullable=False,
           note="Puts the last message in front of the output."), on(OLLAMA, IGNORED)),
    row("suffix", Text(multiline=True), OUTPUT, "Suffix",
        "The text that comes after the output, for models that can fill a gap.",
        on(PULZE_CHAT, COMING_SOON, default="", nullable=None),
        on((OCTOAI_COMPLETIONS, OGX_COMPLETIONS), nullable=True), on(OGX_CHAT, FORWARDED),
        on(LLAMA_COMPLETIONS, IGNORED, note=OLDER_LLAMA),
        on(VLLM_COMPLETIONS, REFUSED),
        on(OLLAMA_COMPLETIONS, default="", note="The model's template must support it.")),
    row("logprobs", Integer(slider=(0, 20)), OUTPUT, "Log probabilities",
        "Returns how likely the tokens were; a number asks for that many alternatives each.",
        on(PULZE, COMING_SOON, Integer(0, 5)),
        on((OCTOAI_COMPLETIONS, OGX_COMPLETIONS), kind=Integer(0, 5), nullable=True),
        on(OCTOAI_CHAT, kind=Flag(), default=False), on(OGX_CHAT, kind=Flag()),
        on(LLAMA_COMPLETIONS, kind=Either(Integer(), Flag()), default=0, note="true counts as 1."),
        on(LLAMA_CHAT, kind=Either(Flag(), Integer())),
        on(VLLM_COMPLETIONS, kind=Integer(-1), note="-1 means all; most servers allow up to 20."),
        on(VLLM_CHAT, kind=Flag(), default=False),
        on(OLLAMA_COMPLETIONS, IGNORED, note="Read by Ollama, but never answered."),
        on(OLLAMA_CHAT, kind=Flag(), nullable=None)),
    row("top_logprobs", Integer(slider=(0, 20)), OUTPUT, "Top log probabilities",
        "How many alternatives to return for each token; needs log probabilities switched on.",
        on(OCTOAI_CHAT, kind=Integer(0, 20), default=0), on(OGX_CHAT, kind=Integer(0, 20)),
        on(OGX_COMPLETIONS, FORWARDED), on(LLAMA_CHAT, note="Refused unless logprobs is true."),
        on((LLAMA_COMPLETIONS, VLLM_COMPLETIONS, OLLAMA_COMPLETIONS), IGNORED),
        on(VLLM_CHAT, default=0, nullable=None), on(OLLAMA_CHAT, nullable=None)),
    row("prompt_logprobs", Integer(slider=(0, 20)), OUTPUT, "Prompt log probabilities",
        "Returns how likely the prompt's tokens were, with this many alternatives each.",
        on(OGX, FORWARDED), on((*LLAMA, *OLLAMA), IGNORED),
        on(VLLM, EXTENSION, Integer(-1), note="-1 means all; refused with stream.")),
    row("loglikelihood", Flag(), OUTPUT, "Log likelihood",
        "Returns the log probabilities of the prompt's tokens too, all but the first.",
        on(OCTOAI, EXTENSION, default=False), on(OGX, FORWARDED),
        on((*LLAMA, *VLLM, *OLLAMA), IGNORED)),
    row("stream", Flag(), OUTPUT, "Stream",
        "Sends the output piece by piece while it is made; off, it comes whole at the end.",
        on(PULZE, default=False, note="For OpenAI-compatible models only."), on((*OGX, LM_STUDIO)),
        on((*OCTOAI, *LLAMA, *VLLM, *OLLAMA), default=False)),
    row("stream_options.include_usage", Flag(), OUTPUT, "Usage in the stream",
        "Also sends the token counts when the output is streamed.",
        on(OCTOAI, default=False, note="Comes with the last piece of text."),
        on(OGX, nullable=None, note="The effect depends on the model server."),
        on(LLAMA_COMPLETIONS, IGNORED, note="No effect: llama.cpp always sends the usage here."),
        on(LLAMA_CHAT, default=False), on(VLLM, default=True, note="Refused without stream."),
        on(OLLAMA, default=False, nullable=None)),
    row("tools", Json("array", items="object"), TOOLS, "Tools",
        "The functions that the model may ask to have called, as a JSON list.",
        on(PULZE_COMPLETIONS, kind=Json("array", TOOL_MEMBERS, "object")),
        on(PULZE_CHAT, kind=Json("array", _loose(TOOL_MEMBERS), "object")),
        on(OCTOAI_CHAT, kind=Json("array", OCTOAI_TOOL_MEMBERS, "object"), nullable=True),
        on(OGX_COMPLETIONS, FORWARDED), on((OGX_CHAT, LLAMA_CHAT, VLLM_CHAT)),
        on((LLAMA_COMPLETIONS, VLLM_COMPLETIONS, OLLAMA_COMPLETIONS), IGNORED),
        on(OLLAMA_CHAT, nullable=None)),
    row("tool_choice", _chosen(), TOOLS, "Tool choice",
        "Whether the model may call a tool (auto, none, required), or as JSON which one it must.",
        on(PULZE_COMPLETIONS, kind=_chosen(("none", "auto"), CHOICE_MEMBERS),
           default="none", nullable=None),
        on(PULZE_CHAT, kind=_chosen(("none", "auto"), _loose(CHOICE_MEMBERS)),
           default="none", nullable=None),
        on(OCTOAI_CHAT, kind=_chosen(("auto", "required"), OCTOAI_CHOICE_MEMBERS), default="auto",
           nullable=True, note="The documentation mentions none, the schema does not list it."),
        on(OGX_COMPLETIONS, FORWARDED), on(OGX_CHAT, note="Refused without tools."),
        on((LLAMA_CHAT, VLLM_CHAT)), on((LLAMA_COMPLETIONS, VLLM_COMPLETIONS, *OLLAMA), IGNORED)),
    row("parallel_tool_calls", Flag(), TOOLS, "Parallel tool calls",
        "Lets the model ask for several tool calls at once.",
        on(OGX_COMPLETIONS, FORWARDED), on(OGX_CHAT), on(OLLAMA, IGNORED)),
    row("functions", Json("array", items="object"), TOOLS, "Functions (older)",
        "The older form of tools: a JSON list of functions.",
        on(OGX_COMPLETIONS, FORWARDED), on(OGX_CHAT), on(OLLAMA, IGNORED)),
    row("function_call", _chosen(), TOOLS, "Function call (older)",
        'The older form of tool choice: auto, none or {"name": "…"}.',
        on(OGX_COMPLETIONS, FORWARDED), on(OGX_CHAT), on(OLLAMA, IGNORED)),
    row("response_format", Json(), TOOLS, "Response format",
        'The form of the output, for example {"type": "json_object"} for valid JSON.',
        on(PULZE_COMPLETIONS, kind=_format(False), nullable=None, note=JSON_WORD),
        on(PULZE_CHAT, kind=_format(None), nullable=None, note=JSON_WORD),
        on(OCTOAI_CHAT, kind=Json(members=OCTOAI_FORMAT_MEMBERS), nullable=True),
        on(OGX_COMPLETIONS, FORWARDED), on(OGX_CHAT, kind=Json(members=FORMAT_MEMBERS)),
        on((LLAMA_CHAT, VLLM_CHAT, OLLAMA_CHAT)), on(VLLM_COMPLETIONS, EXTENSION),
        on(LLAMA_COMPLETIONS, IGNORED, note="Ignored by llama.cpp here; use json_schema."),
        on(OLLAMA_COMPLETIONS, IGNORED)),
    row("json_schema", Json(), TOOLS, "JSON schema",
        "The output is JSON that fits this schema; leave the grammar unset then.",
        on(LLAMA, EXTENSION)),
    row("grammar", Text(multiline=True), TOOLS, "Grammar",
        "The output fits this grammar, written in GBNF.",
        on(LLAMA, EXTENSION)),
    row("structured_outputs", Json(), TOOLS, "Structured outputs",
        'The output fits one rule, for example {"choice": ["yes", "no"]} or {"regex": "…"}.',
        on(VLLM, EXTENSION)),
    row("reasoning_effort", Option(), TOOLS, "Reasoning effort",
        "How much a reasoning model thinks before it answers.",
        on(OGX_COMPLETIONS, FORWARDED), on((LLAMA_COMPLETIONS, OLLAMA_COMPLETIONS), IGNORED),
        on(OGX_CHAT, kind=Option(("none", "minimal", "low", "medium", "high", "xhigh"))),
        on(OLLAMA_CHAT)),
    row("plugins", TextList(item="plugin"), TOOLS, "Plugins",
        "Pulze's plugins that may be used for the answer, one per line.",
        on(PULZE_CHAT, EXTENSION, TextList(False, ("space-search", "web-search",
           "image-generation-dalle", "transcribe-audio", "x-post"), "plugin"), nullable=False),
        on(OGX, FORWARDED), on((*LLAMA, *VLLM, *OLLAMA), IGNORED)),

    row("Pulze-Labels", Json(), ROUTING, "Pulze labels",
        'Labels that Pulze keeps with the request, for example {"project": "ads"}.',
        on(PULZE, EXTENSION, note="Keys become lower case, values become text."), header=True),
    row("Pulze-Weights.cost", Float(slider=(0, 1)), ROUTING, "Weight of cost",
        "How much a low price counts when Pulze picks the model; only the ratio matters.",
        on(PULZE, EXTENSION, default=0.4), header=True),
    row("Pulze-Weights.quality", Float(slider=(0, 1)), ROUTING, "Weight of quality",
        "How much quality counts when Pulze picks the model; only the ratio matters.",
        on(PULZE, EXTENSION, default=0.4), header=True),
    row("Pulze-Weights.latency", Float(slider=(0, 1)), ROUTING, "Weight of latency",
        "How much a quick answer counts when Pulze picks the model; only the ratio matters.",
        on(PULZE, EXTENSION, default=0.4), header=True),
    row("Pulze-Policies.max_cost", Float(step=0.0001, slider=(0.0001, 1)), ROUTING, "Max cost",
        "The most that a request which Pulze makes of several may cost; beyond, it fails.",
        on(PULZE, COMING_SOON, Float(0.0001, step=0.0001), default=0.02), header=True),
    row("Pulze-Policies.max_same_model_retries", Integer(), ROUTING, "Retries on the same model",
        "How often Pulze tries the same model again after an error; 0 means never.",
        on(PULZE, EXTENSION, Integer(0, 3), default=1), header=True),
    row("Pulze-Policies.max_switch_model_retries", Integer(), ROUTING, "Retries on other models",
        "How often Pulze tries another model after an error; 0 means never.",
        on(PULZE, EXTENSION, Integer(0, 5), default=1), header=True),
    row("Pulze-Policies.privacy_level", Integer(), ROUTING, "Privacy level",
        "Pulze's privacy level for the request, from 1 to 3.",
        on(PULZE, EXTENSION, Integer(1, 3), default=1), header=True),
    row("Pulze-Policies.optimize_internal_requests", Integer(), ROUTING, "Optimise requests",
        "Whether Pulze may optimise the requests it makes itself: 1 for yes, 0 for no.",
        on(PULZE, EXTENSION, Integer(0, 1)), header=True),
    row("Pulze-Policies.prompt_id", Text(), ROUTING, "Prompt id",
        "The id of a prompt at Pulze, a UUID.",
        on(PULZE, EXTENSION), header=True),
    row("Pulze-Feature-Flags.auto_tools", Option(("true",)), ROUTING, "Automatic tools",
        "Switches on Pulze's automatic tools; the only value is the text true.",
        on(PULZE, EXTENSION), header=True),
    row("peft", Text(), ROUTING, "PEFT adapter",
        "The name of a fine-tuning adapter to put on the model.",
        on(OCTOAI, EXTENSION, nullable=True), on(OGX, FORWARDED), on(OLLAMA, IGNORED),
        on(LLAMA, IGNORED, note="Ignored by llama.cpp, which loads adapters another way."),
        on(VLLM, IGNORED, note="Ignored by vLLM, where an adapter is a model name.")),
    row("service_tier", Option(), ROUTING, "Service tier",
        "Which class of service handles the request.",
        on(OGX_COMPLETIONS, FORWARDED), on((LLAMA_COMPLETIONS, *OLLAMA), IGNORED),
        on(OGX_CHAT, kind=Option(("auto", "default", "flex", "priority")))),
    row("priority", Integer(), ROUTING, "Priority",
        "The place in the server's queue: lower numbers go first.",
        on(VLLM, EXTENSION, default=0, nullable=False,
           note="Other values than 0 need priority scheduling on the server.")),

    row("typical_p", Float(slider=(0, 1)), SAMPLERS, "Typical p",
        "Keeps the tokens whose surprise is closest to the average; 1 means off.",
        on(LLAMA, EXTENSION, default=1.0)),
    row("xtc_probability", Float(slider=(0, 1)), SAMPLERS, "XTC probability",
        "How often the likeliest tokens are removed before a draw; 0 means never.",
        on(LLAMA, EXTENSION, default=0.0)),
    row("xtc_threshold", Float(slider=(0, 1)), SAMPLERS, "XTC threshold",
        "How likely a token must be for XTC to remove it; over 0.5 XTC is off.",
        on(LLAMA, EXTENSION, default=0.1)),
    row("mirostat", Integer(slider=(0, 2)), SAMPLERS, "Mirostat",
        "Steers the surprise of the text to a target: 0 off, 1 Mirostat, 2 Mirostat 2.0.",
        on(LLAMA, EXTENSION, default=0)),
    row("mirostat_tau", Float(slider=(0, 10)), SAMPLERS, "Mirostat target",
        "The surprise that Mirostat aims at; lower values keep the text closer to the point.",
        on(LLAMA, EXTENSION, default=5.0)),
    row("mirostat_eta", Float(slider=(0, 1)), SAMPLERS, "Mirostat rate",
        "How fast Mirostat corrects itself.",
        on(LLAMA, EXTENSION, default=0.1)),
    row("samplers", Either(Json("array", items="string"), Text()), SAMPLERS, "Samplers",
        "Which samplers run, in order: a JSON list of names, or one text of their letters.",
        on(LLAMA, EXTENSION)),
    row("use_beam_search", Flag(), SAMPLERS, "Beam search",
        "Keeps several continuations and returns the likeliest instead of drawing tokens.",
        on(VLLM, EXTENSION, default=False, nullable=False, note="Refused with stream.")),

    row("repeat_last_n", Integer(slider=(-1, 2048)), SAMPLERS, "Repeat window",
        "How many last tokens the penalties look at; 0 means none, -1 the whole context.",
        on(LLAMA, EXTENSION, default=64)),
    row("dry_multiplier", Float(slider=(0, 5)), SAMPLERS, "DRY multiplier",
        "How strongly DRY acts against repeated passages; 0 means off.",
        on(LLAMA, EXTENSION, default=0.0)),
    row("dry_base", Float(slider=(1, 4)), SAMPLERS, "DRY base",
        "How fast the DRY penalty grows with the length of the repeated passage.",
        on(LLAMA, EXTENSION, default=1.75)),
    row("dry_allowed_length", Integer(slider=(0, 20)), SAMPLERS, "DRY allowed length",
        "Repeated passages up to this many tokens are not penalised by DRY.",
        on(LLAMA, EXTENSION, default=2)),
    row("dry_penalty_last_n", Integer(slider=(-1, 2048)), SAMPLERS, "DRY window",
        "How many last tokens DRY looks at; 0 means none, -1 the whole context.",
        on(LLAMA, EXTENSION, note="The default differs between versions.")),
    row("dry_sequence_breakers", TextList(item="breaker"), SAMPLERS, "DRY breakers",
        "Texts at which a repeated passage ends for DRY, one per line.",
        on(LLAMA, EXTENSION, default=["\n", ":", '"', "*"], note="The list must not be empty.")),
    row("n_predict", Integer(slider=(1, 4096)), ADVANCED, "n_predict",
        "llama.cpp's own name of max tokens; -1 means no limit.",
        on(LLAMA, EXTENSION, default=-1, note="max_tokens does the same.")),
    row("stop_token_ids", Json("array", items="integer"), ADVANCED, "Stop token ids",
        "The output ends at the first of these token numbers.",
        on(VLLM, EXTENSION, default=[])),
    row("include_stop_str_in_output", Flag(), ADVANCED, "Keep the stop sequence",
        "Leaves the stop sequence that ended the output in the text.",
        on(VLLM, EXTENSION, default=False, nullable=False)),
    row("t_max_predict_ms", Integer(slider=(0, 60_000)), ADVANCED, "Time limit",
        "Ends the output at the next line break after this many milliseconds; 0 means off.",
        on(LLAMA, EXTENSION, default=0)),
    row("truncate_prompt_tokens", Integer(slider=(-1, 4096)), ADVANCED, "Truncate the prompt",
        "Keeps only this many last tokens of the prompt; -1 means what the model can take.",
        on(VLLM, EXTENSION, Integer(-1))),

    row("n_cmpl", Integer(slider=(1, 8)), ADVANCED, "n_cmpl",
        "llama.cpp's own name of n, the number of outputs.",
        on(LLAMA, EXTENSION, Integer(1), default=1, note="n does the same.")),
    row("n_probs", Integer(slider=(0, 20)), ADVANCED, "n_probs",
        "llama.cpp's own name of logprobs: alternatives to return for each token.",
        on(LLAMA_COMPLETIONS, EXTENSION, default=0, note="logprobs does the same.")),
    row("stream_options.continuous_usage_stats", Flag(), ADVANCED, "Usage on every chunk",
        "Sends the token counts so far with every piece of the stream.",
        on(VLLM, EXTENSION, default=False, note="Refused without stream.")),
    row("skip_special_tokens", Flag(), ADVANCED, "Skip special tokens",
        "Leaves tokens such as end-of-text out of the output's text.",
        on(VLLM, EXTENSION, default=True, nullable=False)),
    row("return_tokens", Flag(), ADVANCED, "Return tokens",
        "Returns the output's token numbers too.",
        on(LLAMA, EXTENSION, default=False)),
    row("return_token_ids", Flag(), ADVANCED, "Return token ids",
        "Returns the token numbers of the prompt and the output too.",
        on(VLLM, EXTENSION)),
    row("return_progress", Flag(), ADVANCED, "Prompt progress",
        "Tells in the stream how much of the prompt has been read.",
        on(LLAMA, EXTENSION, default=False, note="In streams only.")),
    row("timings_per_token", Flag(), ADVANCED, "Timings per token",
        "Sends the server's speed figures with every piece of the output.",
        on(LLAMA, EXTENSION, default=False)),
    row("response_fields", TextList(item="field"), ADVANCED, "Response fields",
        "Returns only these fields of llama.cpp's own answer, one per line.",
        on(LLAMA, EXTENSION)),

    row("user", Text(), ADVANCED, "User",
        "A name for the end user, which the provider may use against abuse.",
        on((*OCTOAI, *OGX), nullable=True), on((*LLAMA, *VLLM, *OLLAMA), IGNORED)),
    row("log_prompt", Flag(), ADVANCED, "Log the prompt",
        "Lets the provider keep the prompt in its log.",
        on(OCTOAI, EXTENSION, default=False), on(OGX, FORWARDED),
        on((*LLAMA, *VLLM, *OLLAMA), IGNORED)),
    row("prompt_cache_key", Text(), ADVANCED, "Prompt cache key",
        "Requests with the same key share the provider's cache of the prompt.",
        on(OGX_COMPLETIONS, FORWARDED), on(OGX_CHAT, note="At most 64 characters."),
        on((LLAMA_COMPLETIONS, *OLLAMA), IGNORED)),
    row("safety_identifier", Text(), ADVANCED, "Safety identifier",
        "A stable, anonymous id of the end user, for the provider's safety checks.",
        on(OGX_CHAT, FORWARDED)),
    row("cache_prompt", Flag(), ADVANCED, "Cache the prompt",
        "Reuses what the server has already read of the same prompt.",
        on(LLAMA, EXTENSION, default=True)),
    row("cache_salt", Text(), ADVANCED, "Cache salt",
        "Only requests with the same salt share the server's prompt cache.",
        on(VLLM, EXTENSION)),
    row("id_slot", Integer(), ADVANCED, "Slot",
        "Which of the server's slots does the work; -1 means any idle one.",
        on(LLAMA, EXTENSION, default=-1)),
    row("request_id", Text(), ADVANCED, "Request id",
        "The id under which the server logs the request; left out, it makes one.",
        on(VLLM, EXTENSION, nullable=False)),
    row("sse_ping_interval", Integer(slider=(-1, 120)), ADVANCED, "Ping interval",
        "Seconds between signs of life in a silent stream; -1 means none.",
        on(LLAMA, EXTENSION, default=30)),
]
# fmt: on
