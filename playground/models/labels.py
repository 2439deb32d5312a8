"""Labels on runs: one rule for what counts as the same label."""

import unicodedata
from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Exists, OuterRef

from playground.completion import storable
from playground.models.among import Among

LONGEST = 100  # characters


def clean_label(text: str) -> str:
    """NFC, trimmed, inner white space as one blank; ValidationError where nothing is left."""
    label = " ".join(unicodedata.normalize("NFC", text).split())
    if not label or len(label) > LONGEST or label != storable(label):
        said = f"“{label[:30]}” is none" if label else "write one first"
        raise ValidationError(f"A label has 1 to {LONGEST} characters; {said}.")
    return label


def key_of(folded: str) -> str:
    """`stage=draft` and `stage=final` share the key `stage`; a bare name is its own key."""
    return folded.partition("=")[0].strip()


class LabelQuerySet(models.QuerySet["Label"]):
    def named(self, team_id: int, names: Iterable[str]) -> list["Label"]:
        """The team's labels of these names, made where missing; shown as first typed."""
        wanted = {label.casefold(): label for label in map(clean_label, names)}
        self.bulk_create(
            [
                self.model(team_id=team_id, folded=folded, name=name)
                for folded, name in wanted.items()
            ],
            ignore_conflicts=True,
        )
        return list(self.filter(team_id=team_id, folded__in=wanted))

    def meant(self, team_id: int, typed: str) -> "LabelQuerySet":
        """The team's label of this name; of a key also every label with it."""
        try:
            folded = clean_label(typed).casefold()
        except ValidationError:
            return self.none()
        same = models.Q(folded=folded)
        return self.filter(same | models.Q(folded__startswith=f"{folded}="), team_id=team_id)


class Label(models.Model):
    """A name or key=value of one team; equal if equal without case."""

    team = models.ForeignKey("Team", on_delete=models.CASCADE, related_name="labels")
    name = models.CharField(max_length=LONGEST)
    folded = models.CharField(max_length=3 * LONGEST)  # casefolding can lengthen

    objects = LabelQuerySet.as_manager()

    class Meta:
        ordering = ["folded"]
        constraints = [
            models.UniqueConstraint(fields=["team", "folded"], name="one_label_per_team")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        return key_of(self.folded)

    def rename(self, text: str) -> "Label | None":
        """None where it is done: the name reads other, but is the same label. Else the label of
        the new name, made where missing, into which this one has to be merged.
        """
        name = clean_label(text)
        if name.casefold() == self.folded:
            self.name = name
            self.save(update_fields=["name"])
            return None
        [other] = Label.objects.named(self.team_id, [name])
        return other

    def protect_as(self, source: "Label") -> None:
        """In a merge: what the rules of retention keep for the other label they keep for this
        one, before the first run changes its label."""
        for rule in source.protecting.all():
            rule.keep_labels.add(self)


class RunLabelQuerySet(models.QuerySet["RunLabel"]):
    def put(self, run_ids: Iterable[int], labels: Iterable[Label]) -> None:
        """Set labels on runs; a new value of a key replaces the one before."""
        by_key = {key_of(label.folded): label for label in labels}
        rows = [
            self.model(run_id=run_id, label=label, key=key)
            for run_id in run_ids
            for key, label in by_key.items()
        ]
        self.bulk_create(
            rows, update_conflicts=True, unique_fields=["run", "key"], update_fields=["label"]
        )

    def by_run(self, run_ids: Iterable[int]) -> dict[int, list[int]]:
        """{run: [label, …]}; runs without any are missing."""
        found: dict[int, list[int]] = {}
        put = self.filter(Among("run_id", run_ids))
        for run, label in put.values_list("run_id", "label_id"):
            found.setdefault(run, []).append(label)
        return found


class RunLabel(models.Model):
    run = models.ForeignKey("Run", on_delete=models.CASCADE, related_name="run_labels")
    label = models.ForeignKey(Label, on_delete=models.CASCADE, related_name="run_labels")
    key = models.CharField(max_length=3 * LONGEST)

    objects = RunLabelQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "key"], name="one_value_per_run_and_key")
        ]

    def __str__(self) -> str:
        return f"{self.label} on run {self.run_id}"


def labelled_elsewise(source: Label, label: Label) -> int:
    """Runs that have `source` and another value of the key of `label`, which a merge replaces."""
    other = RunLabel.objects.filter(run=OuterRef("run"), key=label.key).exclude(
        label__in=[source, label]
    )
    return source.run_labels.filter(Exists(other)).count()
