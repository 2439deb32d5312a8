from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("playground", "0009_annotations")]

    operations = []
