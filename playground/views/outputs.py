"""The outputs of a run in other ways than as text: Markdown, JSON, what was sent, the prompt."""

import json
from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from playground import axes, branch, documents
from playground import markdown as markdown_reader
from playground.models import Run
from playground.outcome import fold
from playground.structured import Found, json_in
from playground.views import Request, record
from playground.views.compared import compared
from playground.views.selection import noticed


@dataclass(frozen=True)
class Output:
    """What one choice says, so far or in the end."""

    index: int
    text: str
    tool_calls: list[dict[str, Any]]


def _run(request: Request, pk: int) -> Run:
    visible = Run.objects.visible_to(request.user).select_related("connection", "comparison")
    found: Run = get_object_or_404(visible, pk=pk)
    noticed(request.user, [found])
    return found


def outputs_of(run: Run) -> list[Output]:
    """From the choices, or from the log of a run that is still live."""
    if run.live:
        rows = [row for _, events in run.log_after(0) for row in json.loads(events)]
        return [Output(each.index, each.text, each.tool_calls) for each in fold(rows).choices]
    choices = run.choices.defer("packed_logprobs", "packed_timeline")
    return [
        Output(each.index, each.text, json.loads(each.tool_calls) if each.tool_calls else [])
        for each in choices
    ]


@require_GET
def text(request: Request, pk: int) -> HttpResponse:
    """One output as it is, for copying where the page shows only its end: `?choice=0`."""
    choice = request.GET.get("choice", "0")
    found = [each for each in outputs_of(_run(request, pk)) if str(each.index) == choice]
    if not found:
        raise Http404
    return HttpResponse(found[0].text, content_type="text/plain; charset=utf-8")


@require_GET
def continuation(request: Request, pk: int) -> JsonResponse:
    """{"prompt": what the first output goes on from, null where that is no text, "output"}, both
    as the form holds a text: with `{{name}}` escaped."""
    run = _run(request, pk)
    asked, found = run.request_value(), outputs_of(run)
    said = {
        "prompt": documents.text_of(asked),
        "output": axes.escaped(branch.added(asked, 0, found[0].text)) if found else "",
    }
    return JsonResponse(said)


@require_GET
def prompt(request: Request, pk: int) -> HttpResponse:
    """What was asked, to stand before the output."""
    asked = _run(request, pk).request_value()
    messages = [
        (str(each.get("role", "")), replace(asked, messages=(each,)).prompt_text())
        for each in (asked.messages if asked.operation == "chat" else ())
    ]
    context = {"messages": messages, "text": "" if messages else asked.prompt_text()}
    return render(request, "runs/_prompt.html", context)


@dataclass(frozen=True)
class Page:
    index: int
    html: SafeString
    cut: bool


@require_GET
def markdown(request: Request, pk: int) -> HttpResponse:
    run = _run(request, pk)
    pages = [
        Page(
            each.index,
            markdown_reader.rendered(each.text),
            len(each.text) > markdown_reader.LONGEST,
        )
        for each in outputs_of(run)
    ]
    context = {"run": run, "pages": pages, "longest": markdown_reader.LONGEST}
    return render(request, "runs/_markdown.html", context)


@dataclass(frozen=True)
class Parsed:
    index: int
    found: Found | None  # None where there are only tool calls
    calls: list[tuple[str, str, Found]]  # (name, id, arguments)


@require_GET
def json_view(request: Request, pk: int) -> HttpResponse:
    run = _run(request, pk)
    parsed = [
        Parsed(
            each.index,
            json_in(each.text) if each.text.strip() or not each.tool_calls else None,
            [_call(call) for call in each.tool_calls],
        )
        for each in outputs_of(run)
    ]
    return render(request, "runs/_json.html", {"run": run, "parsed": parsed})


def _call(call: dict[str, Any]) -> tuple[str, str, Found]:
    function = call.get("function") or {}
    arguments = str(function.get("arguments") or "")
    found = json_in(arguments)
    if not found.values and arguments:
        found = Found([], found.note.replace("The answer", "What it is called with", 1))
    return str(function.get("name") or ""), str(call.get("id") or ""), found


@require_GET
def sent(request: Request, pk: int) -> HttpResponse:
    """The request as it left, beside that of the comparison's first column."""
    run = _run(request, pk)
    visible = Run.objects.visible_to(request.user).filter(comparison=run.comparison_id)
    visible = visible.select_related("connection", "comparison").order_by("position", "pk")
    first: Run = visible[0]
    here = record.sent(run, run.request_value())
    there = record.sent(first, first.request_value()) if first.pk != run.pk else None
    body, headers = compared(here, there)
    context = {"run": run, "sent": here, "body": body, "headers": headers}
    context["first"] = first if there else None
    return render(request, "runs/_sent.html", context)
