"""Programs that need no provider's client: curl, httpx, fetch."""

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from playground.snippets.call import Call
from playground.snippets.notation import JAVASCRIPT, PYTHON, imports, json_text

LONGEST_ARGUMENT = 100_000  # bytes; Linux takes 128 KiB in one argument of a program
SAFE_INTEGER = 2**53  # JavaScript's numbers are exact up to here
SURROGATE = re.compile("[\ud800-\udfff]")


def curl(call: Call) -> str:
    body = JAVASCRIPT.text(call.request.body())
    lines = [f"curl --no-buffer {_shell(call.url)}", "-H 'Content-Type: application/json'"]
    lines += [f'-H "Authorization: Bearer ${call.key}"'] if call.needs_key else []
    # With nothing behind the colon curl leaves the header out.
    headers = call.request.headers().items()
    lines += [f"-H {_shell(f'{name}: {v}' if v else f'{name};')}" for name, v in headers]
    if len(body.encode()) < LONGEST_ARGUMENT:
        return " \\\n  ".join([*lines, f"--data-raw {_shell(body)}"]) + "\n"
    end = "END_OF_BODY"  # no line of JSON
    return " \\\n  ".join([*lines, f"--data-binary @- <<'{end}'"]) + f"\n{body}\n{end}\n"


HTTPX_STREAM = """\
with httpx.stream("POST", url, headers=headers, SENT, timeout=300) as response:
    if response.is_error:
        raise SystemExit(response.read().decode())
    buffer = ""
    for piece in response.iter_text():
        *lines, buffer = (buffer + piece).split("\\n")
        for line in lines:
            data = line.removeprefix("data:").strip()
            if not line.startswith("data:") or data == "[DONE]":
                continue
            for choice in (json.loads(data) or {}).get("choices") or []:
                print(PART or "", end="", flush=True)
"""
HTTPX_WHOLE = """\
response = httpx.post(url, headers=headers, SENT, timeout=300)
if response.is_error:
    raise SystemExit(response.text)
for choice in response.json()["choices"]:
    print(PART)
"""


def python_headers(call: Call, beside: Mapping[str, str]) -> str:
    """The lines of a dictionary: the key, these, and the request's own."""
    key = (
        f'    "Authorization": f"Bearer {{os.environ[\'{call.key}\']}}",\n'
        if call.needs_key
        else ""
    )
    rows = {**beside, **call.request.headers()}
    return key + "".join(f"    {PYTHON.text(n)}: {PYTHON.text(v)},\n" for n, v in rows.items())


def httpx(call: Call) -> str:
    body = call.request.body()
    encodes = not SURROGATE.search(json.dumps(body, ensure_ascii=False))
    stream = call.request.streams
    if stream:
        part = 'choice["delta"].get("content")' if call.chat else 'choice.get("text")'
    else:
        part = 'choice["message"]["content"]' if call.chat else 'choice["text"]'
    sent = "json=body" if encodes else "content=json.dumps(body)"
    headers = python_headers(call, {} if encodes else {"Content-Type": "application/json"})
    standard = (["json"] if stream or not encodes else []) + (["os"] if call.needs_key else [])
    text = imports(standard, "import httpx") + f"url = {PYTHON.text(call.url)}\n"
    text += f"headers = {{\n{headers}}}\n" if headers else "headers = {}\n"
    text += f"body = {PYTHON.text(body)}\n\n"
    return text + (HTTPX_STREAM if stream else HTTPX_WHOLE).replace("SENT", sent).replace(
        "PART", part
    )


FETCH_STREAM = """\
let buffer = "";
for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
  const lines = (buffer + piece).split("\\n");
  buffer = lines.pop();
  for (const line of lines) {
    const data = line.startsWith("data:") ? line.slice(5).trim() : "[DONE]";
    if (data === "[DONE]") continue;
    for (const choice of JSON.parse(data)?.choices ?? []) process.stdout.write(PART ?? "");
  }
}
"""


def fetch(call: Call) -> str:
    """A JavaScript module for Node 18 or newer."""
    body = call.request.body()
    # Where JavaScript's own values would change something, the text is sent as it is.
    exact = (
        f"JSON.stringify({JAVASCRIPT.text(body, 1)})"
        if _survives(body)
        else json_text(json_text(body))
    )
    headers = '    "Content-Type": "application/json",\n'
    if call.needs_key:
        headers += f"    Authorization: `Bearer ${{process.env.{call.key}}}`,\n"
    rows = call.request.headers().items()
    headers += "".join(f"    {json_text(name)}: {json_text(value)},\n" for name, value in rows)
    text = (
        f'const response = await fetch({json_text(call.url)}, {{\n  method: "POST",\n'
        f"  headers: {{\n{headers}  }},\n  body: {textwrap.indent(exact, '  ').lstrip()},\n}});\n"
        "if (!response.ok) throw new Error(await response.text());\n"
    )
    if call.request.streams:
        part = "choice.delta?.content" if call.chat else "choice.text"
        return text + FETCH_STREAM.replace("PART", part)
    part = "choice.message.content" if call.chat else "choice.text"
    return f"{text}for (const choice of (await response.json()).choices) console.log({part});\n"


def _survives(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "__proto__" not in value and all(map(_survives, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_survives, value))
    return isinstance(value, bool) or not isinstance(value, int) or abs(value) <= SAFE_INTEGER


def _shell(text: str) -> str:
    """In single quotes, where nothing but the quote itself is special."""
    return "'" + text.replace("'", "'\\''") + "'"
