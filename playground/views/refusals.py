"""What is said where a press of Run starts nothing: in its place, and nothing is lost."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from playground import forms
from playground.database import in_view
from playground.inputs import Problem
from playground.models.runs import letter
from playground.models.teams import Membership
from playground.views import Request

REVIEWER = "Reviewers read and rate; they cannot start runs."
NO_BACKEND = "There is no backend yet."
STOPPING = "The playground is being stopped and takes no new runs. Try again in a moment."
BROKEN = "The form was not understood. Reload the page and try again."
# What the fields beside the parameters are called on the page.
NAMES = {
    "prompt": "Prompt",
    "prompts": "Prompt list",
    "ids": "Token ids",
    "messages": "Messages",
    "variables": "Variables",
    "labels": "Labels",
    "connection": "Connection",
    "model": "Model",
    "headers": "Headers",
    "extra": "Extra body",
    "operation": "",  # its sentences name what cannot go there
}
NO_TEAM = "You are in no team yet. Ask an admin to add you to one."


def refusal(membership: Membership | None, connections: Sequence[dict[str, Any]]) -> str:
    """Why nothing can be run; "" where it can."""
    if membership is None:
        return NO_TEAM
    if not membership.may_run:
        return REVIEWER
    return "" if connections else NO_BACKEND


@in_view
def problems(request: Request, draft: forms.Draft) -> HttpResponse:
    errors = [_error(None, problem) for problem in draft.errors]
    errors += [_error(c.position, problem) for c in draft.columns for problem in c.errors]
    return _refusal_page(
        request,
        {
            "errors": errors,
            "lines": _lines(errors, len(draft.columns)),
            "only_bounds": draft.only_bounds,
        },
        422,
    )


def _error(column: int | None, problem: Problem) -> dict[str, Any]:
    """For the page's script; `column` None: of the whole form."""
    return {
        "column": column,
        "path": problem.path,
        "message": problem.message,
        "bound": problem.bound,
    }


def _lines(errors: Sequence[dict[str, Any]], columns: int) -> list[dict[str, Any]]:
    """One line for each thing that is wrong, with the letters of the columns that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        letters = found.setdefault((error["path"], error["message"]), [])
        if error["column"] is not None:
            letters.append(letter(error["column"]))
    return [
        {
            "path": path,
            "name": NAMES.get(path, path),
            "typed": path not in NAMES,  # a parameter, as it is spelled
            "message": message,
            "letters": letters if columns > 1 else [],
        }
        for (path, message), letters in found.items()
    ]


@in_view
def refused(request: Request, said: str | Sequence[str], status: int) -> HttpResponse:
    sentences = [said] if isinstance(said, str) else said
    lines = [{"path": "", "message": sentence, "letters": []} for sentence in sentences]
    return _refusal_page(request, {"errors": [], "lines": lines, "only_bounds": False}, status)


def _refusal_page(request: Request, context: dict[str, Any], status: int) -> HttpResponse:
    template = "_problems.html" if request.htmx else "problems.html"
    response = render(request, template, context, status=status)
    response["HX-Retarget"] = "#problems"
    response["HX-Reswap"] = "innerHTML"
    return response
