from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playground", "0015_review")]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("label", "Add the label"),
                    ("unlabel", "Remove the label"),
                    ("merge", "Merge into the label"),
                    ("trash", "Move to the trash"),
                    ("restore", "Take out of the trash"),
                    ("star", "Star"),
                    ("unstar", "Take the star away"),
                    ("show", "Show to the team"),
                    ("hide", "Make private"),
                ],
                max_length=10,
            ),
        ),
    ]
