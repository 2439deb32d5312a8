from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("playground", "0012_statistics")]

    operations = []
