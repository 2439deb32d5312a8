"""What a newcomer finds on the compose page: four hints, and prompts that show off completions.

The prompts are such that the small model that comes with the playground answers them rightly.
"""

from typing import Any, NamedTuple


class Sample(NamedTuple):
    """`values` are the form's raw texts, as somebody would type them."""

    title: str
    words: str  # what it shows
    prompt: str
    values: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


HINTS = (
    ("Write", "A completion goes on from the end of your prompt: begin the text that you want."),
    ("Set", "Only parameters that you set are sent. Type 0, 0.5, 1 to try several values at once."),
    ("Compare", "Add a column for another model or setting, and run all of them with one key."),
    ("Keep", "Every run is in History with its prompt and settings; label the good ones."),
)

SAMPLES = (
    Sample(
        "Continue a story",
        "The model goes on from where the text ends.",
        "The lighthouse keeper had not spoken to anyone for eleven days when",
        {"max_tokens": "80", "temperature": "0.8"},
    ),
    Sample(
        "Few examples",
        "Two examples say what is wanted; the third is left open.",
        "Word: hot\nOpposite: cold\n\nWord: up\nOpposite: down\n\nWord: big\nOpposite:",
        {"max_tokens": "5", "temperature": "0", "stop": "\\n"},
    ),
    Sample(
        "Fill in the middle",
        "The suffix is what comes after; not every model can do it.",
        "# The mean of a list of numbers.\ndef mean(numbers):",
        {"max_tokens": "40", "temperature": "0", "suffix": "\n    return total / len(numbers)"},
    ),
    Sample(
        "Classify by probabilities",
        "One token is the answer; Probabilities, above the output, says how sure the model is.",
        "Review: It broke on the first day.\nFeeling: negative\n\n"
        "Review: I loved every minute.\nFeeling: positive\n\n"
        "Review: The food was cold and nobody cared.\nFeeling:",
        {"max_tokens": "1", "temperature": "0", "logprobs": "5"},
    ),
)
