import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playground", "0004_axes")]

    operations = [
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ('actor_name', models.CharField(max_length=150)),
                ('action', models.CharField(max_length=30)),
                ('kind', models.CharField(max_length=50)),
                ('object_id', models.BigIntegerField(null=True)),
                ('object_name', models.CharField(max_length=200)),
                ('detail', models.TextField(blank=True)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'change',
                'verbose_name_plural': 'audit log',
                'ordering': ['-at', '-pk'],
                'indexes': [models.Index(fields=['kind', 'object_id', '-at'], name='changes_of_an_object')],
            },
        ),
    ]
