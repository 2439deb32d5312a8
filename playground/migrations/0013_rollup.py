"""Sums over the roll-up: blocks of an hour to eight days, and what they come to."""

import django.utils.timezone
from django.db import migrations, models

SIZES = (4, 24, 96, 768)  # quarters of an hour
# Blocks of what was counted before; the upkeep sums them up.
FIRST = """
INSERT INTO playground_block(team_id, size, quarter, ready, version, changed_at)
SELECT DISTINCT team_id, {0}, quarter - ((quarter % {0}) + {0}) % {0}, {1}, 0, {2}
FROM playground_tally
"""


def fill(apps, schema_editor):
    postgresql = schema_editor.connection.vendor == "postgresql"
    long_ago = "'1970-01-01 00:00:00+00'::timestamptz" if postgresql else "'1970-01-01 00:00:00'"
    for size in SIZES:
        schema_editor.execute(FIRST.format(size, "false" if postgresql else "0", long_ago), params=None)


# A key and its value are no accident of each other; without this PostgreSQL expects a few runs where
# there are tens of thousands, and reads them all.
TOGETHER = "CREATE STATISTICS facts_together (dependencies, mcv) ON key, source, text FROM playground_runfact"


def know_facts(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(TOGETHER)
        schema_editor.execute("ANALYZE playground_runfact")


def forget_facts(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP STATISTICS facts_together")


class Migration(migrations.Migration):
    dependencies = [("playground", "0012_statistics")]

    operations = [
        migrations.CreateModel(
            name='Block',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('team_id', models.BigIntegerField()),
                ('size', models.IntegerField()),
                ('quarter', models.IntegerField()),
                ('ready', models.BooleanField(default=False)),
                ('version', models.IntegerField(default=0)),
                ('changed_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='BlockTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('team_id', models.BigIntegerField()),
                ('quarter', models.IntegerField()),
                ('runs', models.IntegerField()),
                ('completed', models.IntegerField()),
                ('failed', models.IntegerField()),
                ('cancelled', models.IntegerField()),
                ('interrupted', models.IntegerField()),
                ('tokens_in', models.BigIntegerField()),
                ('tokens_out', models.BigIntegerField()),
                ('cost_units', models.BigIntegerField()),
                ('priced', models.IntegerField()),
                ('first_bins', models.TextField(blank=True)),
                ('total_bins', models.TextField(blank=True)),
                ('size', models.IntegerField()),
                ('by', models.CharField(choices=[('connection', 'Connection'), ('model', 'Model'), ('author', 'Author'), ('label', 'Label')], max_length=10)),
                ('name', models.CharField(blank=True, max_length=300)),
                ('provider', models.CharField(blank=True, max_length=30)),
                ('key', models.BigIntegerField(null=True)),
            ],
        ),
        migrations.AddIndex(
            model_name='labeltally',
            index=models.Index(fields=['team_id', 'author_id', 'quarter', 'visibility'], name='label_tallies_of_an_author'),
        ),
        migrations.AddIndex(
            model_name='tally',
            index=models.Index(fields=['team_id', 'author_id', 'quarter', 'visibility'], name='tallies_of_an_author'),
        ),
        migrations.AddIndex(
            model_name='block',
            index=models.Index(condition=models.Q(('ready', False)), fields=['id'], name='unready_blocks'),
        ),
        migrations.AddConstraint(
            model_name='block',
            constraint=models.UniqueConstraint(fields=('team_id', 'size', 'quarter'), name='one_block'),
        ),
        migrations.AddIndex(
            model_name='blocktally',
            index=models.Index(fields=['team_id', 'by', 'size', 'quarter'], name='tallies_of_a_block'),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunPython(know_facts, forget_facts),
    ]
