from django.db import migrations, models
from django.db.models import F


def every_run_was_a_column(apps, schema_editor):
    apps.get_model("playground", "Run").objects.update(column=F("position"))


class Migration(migrations.Migration):
    dependencies = [("playground", "0003_presets")]

    operations = [
        migrations.AddField(
            model_name="comparison", name="axes", field=models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="run", name="column", field=models.PositiveIntegerField(default=0)
        ),
        migrations.AddField(
            model_name="run", name="coordinates",
            field=models.TextField(blank=True, default=""), preserve_default=False,
        ),
        migrations.RunPython(every_run_was_a_column, migrations.RunPython.noop),
    ]
