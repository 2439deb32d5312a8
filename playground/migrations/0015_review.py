"""A pair of a blind panel becomes a round of two outputs or more, its sides become seats."""

import django.db.models.deletion
from django.db import migrations, models


def seat(apps, schema_editor):
    Pair, Seat, Ballot = (apps.get_model("playground", name) for name in ("Pair", "Seat", "Ballot"))
    sides = Pair.objects.values_list("pk", "a", "b").iterator()
    seats = (
        Seat(round_id=pk, place=place, entry_id=entry)
        for pk, *entries in sides
        for place, entry in enumerate(entries)
    )
    Seat.objects.bulk_create(seats, batch_size=400)
    Ballot.objects.filter(swapped=True).update(order="ba")
    if schema_editor.connection.vendor == "postgresql":
        # Else the tables cannot be altered: the foreign keys are still to be checked.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [("playground", "0014_security")]

    operations = [
        migrations.CreateModel(
            name="Seat",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("place", models.PositiveSmallIntegerField()),
                (
                    "entry",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="playground.entry",
                    ),
                ),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="seats",
                        to="playground.pair",
                    ),
                ),
            ],
            options={"ordering": ["place"]},
        ),
        migrations.AddConstraint(
            model_name="seat",
            constraint=models.UniqueConstraint(
                fields=("round", "place"), name="one_seat_per_round_and_place"
            ),
        ),
        migrations.AddField(
            model_name="ballot",
            name="order",
            field=models.CharField(default="ab", max_length=9),
            preserve_default=False,
        ),
        migrations.RunPython(seat, migrations.RunPython.noop, elidable=True),
        migrations.RemoveField(model_name="ballot", name="swapped"),
        migrations.RemoveField(model_name="pair", name="a"),
        migrations.RemoveField(model_name="pair", name="b"),
        migrations.RemoveConstraint(model_name="ballot", name="one_ballot_per_judge_and_pair"),
        migrations.RenameModel(old_name="Pair", new_name="Round"),
        migrations.RenameField(model_name="ballot", old_name="pair", new_name="round"),
        migrations.AddConstraint(
            model_name="ballot",
            constraint=models.UniqueConstraint(
                fields=("judge", "round"), name="one_ballot_per_judge_and_round"
            ),
        ),
        migrations.AlterField(
            model_name="ballot",
            name="value",
            field=models.CharField(blank=True, max_length=4),
        ),
        migrations.AlterField(
            model_name="round",
            name="panel",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="rounds",
                to="playground.panel",
            ),
        ),
        migrations.AddField(
            model_name="round",
            name="size",
            field=models.PositiveSmallIntegerField(default=2),
        ),
        migrations.AddField(
            model_name="panel",
            name="together",
            field=models.BooleanField(default=False),
        ),
        migrations.AddIndex(
            model_name="comparison",
            index=models.Index(
                condition=models.Q(("author", None), ("visibility", "private")),
                fields=["id"],
                name="ownerless_comparisons",
            ),
        ),
    ]
