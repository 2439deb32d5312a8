"""Search: words and text of runs, facts, saved views, what changed, indexes of the lists.

The words of SearchText are indexed by hand. On SQLite FTS5 reads them from its table (external
content), and triggers keep it up: a later migration that lets Django rebuild that table has to make
the triggers again.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import playground.models.search

INDEX = """
CREATE VIRTUAL TABLE playground_searchindex USING fts5(
    words, content='playground_searchtext', content_rowid='run_id',
    detail=none, columnsize=0, tokenize="ascii tokenchars '_'"
)
"""
INSERT = "INSERT INTO playground_searchindex(rowid, words) VALUES (new.run_id, new.words);"
DELETE = """
INSERT INTO playground_searchindex(playground_searchindex, rowid, words)
VALUES ('delete', old.run_id, old.words);
"""
TRIGGER = "CREATE TRIGGER playground_searchtext_{0} AFTER {0} ON playground_searchtext BEGIN {1} END"
SQLITE = [
    INDEX,
    TRIGGER.format("insert", INSERT),
    TRIGGER.format("delete", DELETE),
    TRIGGER.format("update", DELETE + INSERT),
]
POSTGRESQL = [
    # A narrow table: what is long goes out of line, so that ids are read without it.
    "ALTER TABLE playground_searchtext SET (toast_tuple_target = 128)",
    "CREATE INDEX playground_searchindex ON playground_searchtext USING gin (words)"
    " WITH (fastupdate = off)",
]


def make(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for statement in POSTGRESQL if vendor == "postgresql" else SQLITE:
        schema_editor.execute(statement)


def take_away(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TABLE playground_searchindex")


class Migration(migrations.Migration):
    dependencies = [("playground", "0007_people")]

    operations = [
        migrations.CreateModel(
            name='RunFact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(choices=[('parameter', 'Parameter'), ('answer', 'Answer'), ('user', 'User')], max_length=10)),
                ('key', models.CharField(max_length=100)),
                ('text', models.CharField(blank=True, max_length=200)),
                ('number', models.FloatField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('query', models.CharField(max_length=2000)),
                ('shared', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='SearchText',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='search_text', serialize=False, to='playground.run')),
                ('words', playground.models.search.WordsField()),
                ('text', models.TextField()),
            ],
        ),
        migrations.RemoveIndex(
            model_name='run',
            name='runs_of_a_team',
        ),
        migrations.AddField(
            model_name='comparison',
            name='changes',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='run',
            name='indexed',
            field=models.BooleanField(default=False),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['team', '-created_at', '-comparison', '-id'], name='runs_of_a_team'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['team', 'author', '-created_at', '-comparison', '-id'], name='runs_by_author'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['team', 'model', '-created_at', '-comparison', '-id'], name='runs_by_model'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['team', 'connection_name', '-created_at', '-comparison', '-id'], name='runs_by_connection_name'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['team', 'provider', '-created_at', '-comparison', '-id'], name='runs_by_provider'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['team', 'status', '-created_at', '-comparison', '-id'], name='runs_by_status'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('indexed', False)), fields=['id'], name='runs_to_index'),
        ),
        migrations.AddField(
            model_name='runfact',
            name='run',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='playground.run'),
        ),
        migrations.AddField(
            model_name='savedview',
            name='author',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='savedview',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to='playground.team'),
        ),
        migrations.AddIndex(
            model_name='runfact',
            index=models.Index(fields=['key', 'number', 'run'], name='facts_by_number'),
        ),
        migrations.AddIndex(
            model_name='runfact',
            index=models.Index(fields=['key', 'text', 'run'], name='facts_by_text'),
        ),
        migrations.AddConstraint(
            model_name='savedview',
            constraint=models.UniqueConstraint(fields=('team', 'author', 'name'), name='one_view_of_a_name_per_person'),
        ),
        migrations.RunPython(make, take_away),
    ]
