"""The roll-up of statistics, and the triggers that say which quarters of it have changed.

A later migration that lets Django rebuild the table of runs or of their labels on SQLite takes the
triggers with it, and has to call `make` again.
"""

from django.db import migrations, models

# What a tally is made of; anything else may change without a word.
COLUMNS = (
    "team_id",
    "author_id",
    "visibility",
    "created_at",
    "deleted_at",
    "connection_name",
    "provider",
    "model",
    "status",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "first_token_ms",
    "total_ms",
)


def sqlite():
    seconds = "CAST(strftime('%s', {0}.created_at) AS INTEGER)"
    # Division of whole numbers goes towards zero; quarters go down.
    quarter = f"(({seconds} - (({seconds} % 900) + 900) % 900) / 900)"
    mark = (
        "INSERT INTO playground_stale(team_id, quarter)"
        f" SELECT {{0}}.team_id, {quarter} WHERE {{0}}.created_at IS NOT NULL;"
    )
    label = (
        "INSERT INTO playground_stale(team_id, quarter)"
        f" SELECT run.team_id, {quarter.format('run')} FROM playground_run run"
        " WHERE run.id = {0}.run_id AND run.deleted_at IS NULL;"
    )
    new, old = mark.format("new"), mark.format("old")
    changed = " OR ".join(f"new.{name} IS NOT old.{name}" for name in COLUMNS)
    moved = "new.created_at <> old.created_at OR new.team_id <> old.team_id"
    columns = ", ".join(COLUMNS)
    run, run_label = "ON playground_run", "ON playground_runlabel"
    return [
        f"CREATE TRIGGER stale_run_insert AFTER INSERT {run} BEGIN {new} END",
        f"CREATE TRIGGER stale_run_delete AFTER DELETE {run} WHEN old.deleted_at IS NULL"
        f" BEGIN {old} END",
        f"CREATE TRIGGER stale_run_update AFTER UPDATE OF {columns} {run}"
        f" WHEN {changed} BEGIN {new} END",
        f"CREATE TRIGGER stale_run_move AFTER UPDATE OF team_id, created_at {run}"
        f" WHEN {moved} BEGIN {old} END",
        f"CREATE TRIGGER stale_label_insert AFTER INSERT {run_label} BEGIN {label.format('new')} END",
        f"CREATE TRIGGER stale_label_delete AFTER DELETE {run_label} BEGIN {label.format('old')} END",
        f"CREATE TRIGGER stale_label_update AFTER UPDATE OF label_id, run_id {run_label}"
        f" WHEN new.label_id <> old.label_id OR new.run_id <> old.run_id"
        f" BEGIN {label.format('old')} {label.format('new')} END",
    ]


def postgresql():
    quarter = "floor(extract(epoch FROM {0}.created_at) / 900)::integer"
    into = "INSERT INTO playground_stale(team_id, quarter)"
    changed = " OR ".join(f"NEW.{name} IS DISTINCT FROM OLD.{name}" for name in COLUMNS)
    columns = ", ".join(COLUMNS)
    function = "CREATE FUNCTION {0}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {1} RETURN NULL; END $$"
    of_label = (
        f"{into} SELECT run.team_id, {quarter.format('run')} FROM playground_run run"
        " WHERE run.id = {0}.run_id AND run.deleted_at IS NULL;"
    )
    return [
        function.format(
            "playground_stale_run",
            f"""
            IF TG_OP <> 'DELETE' THEN
                {into} VALUES (NEW.team_id, {quarter.format("NEW")});
            END IF;
            IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND (
                NEW.created_at <> OLD.created_at OR NEW.team_id <> OLD.team_id
            )) THEN
                {into} VALUES (OLD.team_id, {quarter.format("OLD")});
            END IF;
            """,
        ),
        function.format(
            "playground_stale_label",
            f"""
            IF TG_OP <> 'INSERT' THEN {of_label.format("OLD")} END IF;
            IF TG_OP <> 'DELETE' THEN {of_label.format("NEW")} END IF;
            """,
        ),
        "CREATE TRIGGER stale_run_insert AFTER INSERT ON playground_run"
        " FOR EACH ROW EXECUTE FUNCTION playground_stale_run()",
        "CREATE TRIGGER stale_run_delete AFTER DELETE ON playground_run FOR EACH ROW"
        " WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION playground_stale_run()",
        f"CREATE TRIGGER stale_run_update AFTER UPDATE OF {columns} ON playground_run"
        f" FOR EACH ROW WHEN ({changed}) EXECUTE FUNCTION playground_stale_run()",
        "CREATE TRIGGER stale_label_change AFTER INSERT OR DELETE OR UPDATE OF label_id, run_id"
        " ON playground_runlabel FOR EACH ROW EXECUTE FUNCTION playground_stale_label()",
    ]


# Of runs that were there before.
FIRST = {
    "sqlite": "INSERT INTO playground_stale(team_id, quarter) SELECT DISTINCT team_id,"
    " CAST(strftime('%s', created_at) AS INTEGER) / 900 FROM playground_run",
    "postgresql": "INSERT INTO playground_stale(team_id, quarter) SELECT DISTINCT team_id,"
    " floor(extract(epoch FROM created_at) / 900)::integer FROM playground_run",
}


def make(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    statements = postgresql() if vendor == "postgresql" else sqlite()
    for statement in [*statements, FIRST[vendor]]:
        schema_editor.execute(statement, params=None)


def take_away(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name in ("run", "label"):
            schema_editor.execute(f"DROP FUNCTION playground_stale_{name} CASCADE")
        return
    for name in ("run_insert", "run_delete", "run_update", "run_move"):
        schema_editor.execute(f"DROP TRIGGER stale_{name}")
    for name in ("label_insert", "label_delete", "label_update"):
        schema_editor.execute(f"DROP TRIGGER stale_{name}")


COUNT = [
    ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
    ("team_id", models.BigIntegerField()),
    ("quarter", models.IntegerField()),
    ("author_id", models.BigIntegerField(null=True)),
    ("visibility", models.CharField(max_length=10)),
    ("runs", models.IntegerField()),
    ("completed", models.IntegerField()),
    ("failed", models.IntegerField()),
    ("cancelled", models.IntegerField()),
    ("interrupted", models.IntegerField()),
    ("tokens_in", models.BigIntegerField()),
    ("tokens_out", models.BigIntegerField()),
    ("cost_units", models.BigIntegerField()),
    ("priced", models.IntegerField()),
    ("first_bins", models.TextField(blank=True)),
    ("total_bins", models.TextField(blank=True)),
]


class Migration(migrations.Migration):
    dependencies = [("playground", "0011_exchange")]

    operations = [
        migrations.CreateModel(
            name="LabelTally",
            fields=[*COUNT, ("label_id", models.BigIntegerField())],
            options={
                "indexes": [
                    models.Index(fields=["team_id", "quarter"], name="label_tallies_of_a_team")
                ],
            },
        ),
        migrations.CreateModel(
            name="Stale",
            fields=[
                COUNT[0],
                ("team_id", models.BigIntegerField()),
                ("quarter", models.IntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["team_id", "quarter"], name="stale_of_a_team")],
            },
        ),
        migrations.CreateModel(
            name="Tally",
            fields=[
                *COUNT,
                ("connection_name", models.CharField(max_length=60)),
                ("provider", models.CharField(max_length=30)),
                ("model", models.CharField(blank=True, max_length=300)),
            ],
            options={
                "indexes": [models.Index(fields=["team_id", "quarter"], name="tallies_of_a_team")],
            },
        ),
        migrations.RunPython(make, take_away),
    ]
