import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.db.models import Max

BATCH = 10_000  # rows of one statement
# A version 4 UUID as each database keeps it.
RANDOM = {
    "postgresql": "gen_random_uuid()",
    "sqlite": (
        "lower(hex(randomblob(6))) || '4' || substr(lower(hex(randomblob(2))), 2)"
        " || 'a' || substr(lower(hex(randomblob(8))), 2)"
    ),
}


def name_them(apps, schema_editor):
    """Every run and comparison that is there gets an id of its own."""
    database = schema_editor.connection
    for name in ("Comparison", "Run"):
        model = apps.get_model("playground", name)
        table = database.ops.quote_name(model._meta.db_table)
        last = model.objects.using(database.alias).aggregate(last=Max("pk"))["last"] or 0
        statement = (
            f"UPDATE {table} SET origin_id = {RANDOM[database.vendor]}"
            " WHERE origin_id IS NULL AND id >= %s AND id < %s"
        )
        with database.cursor() as cursor:
            for start in range(0, last + 1, BATCH):
                cursor.execute(statement, [start, start + BATCH])


def origin_id(**more):
    return models.UUIDField(default=uuid.uuid4, editable=False, **more)


def imported_from():
    return models.CharField(blank=True, max_length=150)


class Migration(migrations.Migration):
    dependencies = [("playground", "0010_reviews")]

    operations = [
        migrations.AddField("comparison", "imported_from", imported_from()),
        migrations.AddField("run", "imported_from", imported_from()),
        migrations.AddField("comment", "imported_from", imported_from()),
        migrations.AddField("rating", "imported_from", imported_from()),
        migrations.AddField(
            "comparison", "origin_id", models.UUIDField(null=True, editable=False)
        ),
        migrations.AddField("run", "origin_id", models.UUIDField(null=True, editable=False)),
        migrations.RunPython(name_them, migrations.RunPython.noop, elidable=True),
        migrations.AlterField("comparison", "origin_id", origin_id()),
        migrations.AlterField("run", "origin_id", origin_id()),
        migrations.AddConstraint(
            "comparison",
            models.UniqueConstraint(fields=("team", "origin_id"), name="comparison_is_here_once"),
        ),
        migrations.AddConstraint(
            "run",
            models.UniqueConstraint(fields=("team", "origin_id"), name="run_is_here_once"),
        ),
        migrations.CreateModel(
            name="Transfer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("export", "Export"), ("import", "Import")], max_length=10)),
                ("state", models.CharField(choices=[("waiting", "Waiting"), ("running", "Running"), ("finished", "Done"), ("stopped", "Stopped"), ("failed", "Failed")], default="waiting", max_length=10)),
                ("layout", models.CharField(max_length=10)),
                ("selection", models.TextField(blank=True)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("key", models.UUIDField(default=uuid.uuid4, editable=False)),
                ("total", models.PositiveBigIntegerField(null=True)),
                ("done", models.PositiveBigIntegerField(default=0)),
                ("place", models.TextField(blank=True)),
                ("runs", models.PositiveBigIntegerField(default=0)),
                ("skipped", models.PositiveBigIntegerField(default=0)),
                ("bad", models.PositiveBigIntegerField(default=0)),
                ("problems", models.TextField(blank=True)),
                ("error", models.TextField(blank=True)),
                ("lease", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(null=True)),
                ("author", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="transfers", to=settings.AUTH_USER_MODEL)),
                ("team", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="transfers", to="playground.team")),
            ],
        ),
    ]
