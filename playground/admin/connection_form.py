"""The form of a connection. Secrets are write-only: they go in here and never come out."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from playground.models import ApiKey, Connection
from playground.models.connections import clean_base_url
from playground.models.keys import LONGEST_OVERLAP, clean_key
from playground.providers import PROVIDERS

AGAIN = "Type it once more: a secret is not kept in the page that says what was wrong."


class SecretArea(forms.Textarea):
    """Like a password box: what was typed is not in the page that says what was wrong."""

    def format_value(self, value: Any) -> str:
        return ""


class ProviderChoice(forms.Select):
    """Tells the page's script the documented address of each provider, and what it is."""

    def __init__(self) -> None:
        facts = {
            slug: {"address": each.default_base_url, "help": each.help}
            for slug, each in PROVIDERS.items()
        }
        super().__init__(attrs={"data-providers": json.dumps(facts)})


class ConnectionForm(forms.ModelForm):
    provider = forms.ChoiceField(
        label="Service",
        choices=lambda: [(s, p.label) for s, p in PROVIDERS.items()],
        widget=ProviderChoice,
    )
    base_url = forms.CharField(label="Address", required=False, max_length=500)
    api_key = forms.CharField(
        label="API key",
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Stored encrypted and never shown again.",
    )
    key_expires = forms.DateField(
        label="Expires on",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text="As the provider says, of the key above or else of the newest one. "
        "You are warned 30 and 7 days before.",
    )
    new_headers = forms.CharField(
        label="Extra headers",
        required=False,
        widget=SecretArea(attrs={"rows": 3, "autocomplete": "off"}),
        help_text="One “Name: value” a line. Stored encrypted and never shown again. "
        "Empty: the present ones stay; a single “-” removes them.",
    )

    class Meta:
        model = Connection
        fields = [
            "name",
            "provider",
            "dialect",
            "base_url",
            "reaches_local",
            "overlap_days",
            "default_model",
            "allowed_models",
            "parallel",
            "assumed_tokens",
            "read_timeout",
            "all_teams",
            "teams",
            "enabled",
        ]
        labels = {
            "dialect": "Kind of server",
            "all_teams": "Every team may use it",
            "teams": "Only these teams",
            "enabled": "In use",
        }
        help_texts = {
            "name": "What people choose in the form, such as “Pulze” or “GPU in the basement”.",
            "dialect": "For your own servers. The test finds it out.",
            "default_model": "Filled in when somebody chooses this connection.",
            "enabled": "Switched off, nobody can choose it; its runs stay in the history.",
            "teams": "Counts where “Every team may use it” is not ticked.",
        }
        widgets = {
            "allowed_models": forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
            "teams": forms.CheckboxSelectMultiple,
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "base_url" in self.fields:  # not for the embedded connection
            self.fields["base_url"].help_text = addresses()
            self.fields["provider"].help_text = " ".join(p.help for p in PROVIDERS.values())
        if self.instance.pk:
            self.fields["api_key"].help_text += " Empty: the present one stays."
        if "teams" in self.fields:
            self.fields["teams"].widget.can_add_related = False
        if "key_expires" in self.fields and (newest := self.newest_key()):
            self.initial["key_expires"] = newest.expires_on

    def newest_key(self) -> ApiKey | None:
        """The waiting key, else the active one."""
        return self.instance.keys.stored().first() if self.instance.pk else None

    def clean_base_url(self) -> str:
        """Empty: the documented address of the provider."""
        provider = PROVIDERS.get(self.cleaned_data.get("provider", ""))
        default = provider.default_base_url if provider else ""
        return clean_base_url(str(self.cleaned_data["base_url"]).strip() or default)

    def _post_clean(self) -> None:
        """The model's own conditions; after an error, which secrets have to be typed again."""
        super()._post_clean()  # type: ignore[misc]  # unknown to the stubs
        for name in ("api_key", "new_headers") if self.errors else ():
            if self.data.get(self.add_prefix(name)) and name not in self.errors:
                self.add_error(name, AGAIN)

    def clean_overlap_days(self) -> int:
        days = int(self.cleaned_data["overlap_days"])
        if days > LONGEST_OVERLAP:
            raise ValidationError(f"At most {LONGEST_OVERLAP:,} days.")
        return days

    def clean_api_key(self) -> str:
        return clean_key(self.cleaned_data["api_key"])

    def clean_new_headers(self) -> str:
        text = str(self.cleaned_data["new_headers"]).strip()
        for line in text.splitlines() if text != "-" else []:
            name, colon, _ = line.partition(":")
            if not colon or not name.strip() or not _fits(line) or " " in name.strip():
                raise ValidationError("Write one header a line, as “Name: value”.")
        return text


class PriceForm(forms.ModelForm):
    def clean_model(self) -> str:
        """As it is kept, so that two prices for the same models are seen here."""
        name = str(self.cleaned_data["model"])
        return "" if name == "*" else name


def addresses() -> str:
    """What an empty address stands for."""
    known = ", ".join(f"{each.label} {each.default_base_url}" for each in PROVIDERS.values())
    return f"Empty: the documented one ({known})."


def _fits(line: str) -> bool:
    """Whether it can stand in an HTTP header."""
    return line.isascii() and line.isprintable()
