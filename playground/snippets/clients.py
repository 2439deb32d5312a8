"""Programs with a client. What it does not know by name goes through its door for more fields."""

import textwrap
from collections.abc import Mapping
from typing import Any

from playground.completion import CompletionRequest
from playground.parameters import Api, Status, for_api
from playground.snippets.call import Call
from playground.snippets.notation import PYTHON, imports
from playground.snippets.plain import python_headers


def openai(call: Call) -> str:
    # OGX models OpenAI's API field by field.
    named, further = _split(call.request, Api("ogx", "", call.request.operation), Status.ACCEPTED)
    key = f'os.environ["{call.key}"]' if call.needs_key else '"none"'
    doors = {"extra_headers": call.request.headers(), "extra_body": further}
    return (
        imports(["os"] if call.needs_key else [], "from openai import OpenAI")
        + f"url = {PYTHON.text(call.base_url)}\n"
        + f"client = OpenAI(base_url=url, api_key={key}, max_retries=0)\n"
        + _asked(call, f"client.{_resource(call)}.create", named, doors)
    )


def octoai(call: Call) -> str:
    named, further = _split(call.request, call.request.api, Status.ACCEPTED, Status.EXTENSION)
    if further:
        return _octoai_unnamed(call)
    named.pop("stream", None)  # there is a method for each
    headers = call.request.headers()
    options = {"additional_headers": headers} if headers else {}
    method = f"create_{'chat_' if call.chat else ''}completion"
    method += "_stream" if call.request.streams else ""
    key = f'    api_key=os.environ["{call.key}"],\n' if call.needs_key else ""
    modules = "from octoai.client import OctoAI\nfrom octoai.environment import OctoAIEnvironment"
    return (
        imports(["os"] if call.needs_key else [], modules)
        + f"url = {PYTHON.text(call.root)}\nclient = OctoAI(\n{key}"
        + "    environment=OctoAIEnvironment(default=url, image_gen=url, text_gen=url),\n)\n"
        + _asked(call, f"client.text_gen.{method}", named, {"request_options": options})
    )


def _octoai_unnamed(call: Call) -> str:
    """With its `additional_body_parameters`, octoai 1.11.0 sends a form instead of JSON.

    `infer` and `infer_stream` send any body, but neither key nor content type.
    """
    headers = python_headers(call, {"Content-Type": "application/json"})
    text = (
        imports(["os"] if call.needs_key else [], "import httpx\nfrom octoai.client import OctoAI")
        + f"headers = {{\n{headers}}}\n"
        + "client = OctoAI(httpx_client=httpx.Client(headers=headers, timeout=300))\n"
        + f"url = {PYTHON.text(call.url)}\nbody = {PYTHON.text(call.request.body())}\n"
    )
    if call.request.streams:
        part = 'choice["delta"].get("content")' if call.chat else 'choice.get("text")'
        loop = 'for chunk in client.infer_stream(url, body):\n    for choice in chunk["choices"]:\n'
        return f'{text}{loop}        print({part} or "", end="", flush=True)\n'
    part = 'choice["message"]["content"]' if call.chat else 'choice["text"]'
    return f'{text}for choice in client.infer(url, body)["choices"]:\n    print({part})\n'


def ogx(call: Call) -> str:
    """The client is for Python 3.12 and newer."""
    named, further = _split(call.request, call.request.api, Status.ACCEPTED)
    headers = call.request.headers()
    options = f", default_headers={PYTHON.text(headers)}" if headers else ""
    options += f', api_key=os.environ["{call.key}"]' if call.needs_key else ""
    return (
        imports(["os"] if call.needs_key else [], "from ogx_client import OgxClient")
        + f"client = OgxClient(base_url={PYTHON.text(call.root)}{options})\n"
        + _asked(call, f"client.{_resource(call)}.create", named, {"extra_body": further})
    )


def _split(
    request: CompletionRequest, api: Api, *known: Status
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The body as what a client of this API knows by name, and the rest."""
    rows = [support for row, support in for_api(api) if not row.header]
    names = {support.name.split(".")[0] for support in rows if support.status in known}
    names |= {"model", "messages" if request.operation == "chat" else "prompt"}
    body = request.body()
    named = {name: value for name, value in body.items() if name in names}
    return named, {name: value for name, value in body.items() if name not in names}


def _resource(call: Call) -> str:
    return "chat.completions" if call.chat else "completions"


def _asked(call: Call, method: str, named: Mapping[str, Any], doors: Mapping[str, Any]) -> str:
    """The call with its arguments, without the empty doors, and the printing of what comes."""
    arguments = {**named, **{name: value for name, value in doors.items() if value}}
    lines = "".join(f"{name}={PYTHON.text(value, 1)},\n" for name, value in arguments.items())
    text = f"answer = {method}(\n{textwrap.indent(lines, '    ')})\n"
    if call.request.streams:
        part = "choice.delta.content" if call.chat else "choice.text"
        loop = "for chunk in answer:\n    for choice in chunk.choices:\n        print"
        return f'{text}{loop}({part} or "", end="", flush=True)\n'
    part = "choice.message.content" if call.chat else "choice.text"
    return f"{text}for choice in answer.choices:\n    print({part})\n"
