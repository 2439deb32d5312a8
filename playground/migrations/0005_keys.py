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
                ('at', models.DateTimeField(db_index=True, default=django.utils.timezone.now, verbose_name='time')),
                ('actor_name', models.CharField(max_length=150, verbose_name='who')),
                ('action', models.CharField(max_length=30)),
                ('kind', models.CharField(max_length=50)),
                ('object_id', models.BigIntegerField(null=True)),
                ('object_name', models.CharField(max_length=200, verbose_name='of')),
                ('detail', models.TextField(blank=True)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'change',
                'verbose_name_plural': 'changes',
                'ordering': ['-at', '-pk'],
                'indexes': [models.Index(fields=['kind', 'object_id', '-at'], name='changes_of_an_object')],
            },
        ),
        migrations.AlterModelOptions(
            name='apikey',
            options={'verbose_name': 'API key'},
        ),
        migrations.RemoveField(
            model_name='apikey',
            name='expires_at',
        ),
        migrations.AddField(
            model_name='apikey',
            name='erased_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='apikey',
            name='expires_on',
            field=models.DateField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='apikey',
            name='rejected_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='apikey',
            name='rejection',
            field=models.TextField(blank=True, editable=False),
        ),
        migrations.AddField(
            model_name='apikey',
            name='retires_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='connection',
            name='allowed_models',
            field=models.TextField(blank=True, help_text='One a line; * stands for any characters. Empty: every model of the provider.'),
        ),
        migrations.AddField(
            model_name='connection',
            name='overlap_days',
            field=models.PositiveIntegerField(default=7, help_text='After a change of key the former one is used where the provider rejects the new one, and is then erased. 0: it is erased at once.', verbose_name='days that a former key stays'),
        ),
        migrations.AddField(
            model_name='connection',
            name='test_report',
            field=models.TextField(blank=True, editable=False),
        ),
        migrations.AddField(
            model_name='connection',
            name='tested_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='api_key',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to='playground.apikey'),
        ),
        migrations.AddField(
            model_name='run',
            name='key_last_four',
            field=models.CharField(blank=True, max_length=4),
        ),
        migrations.AlterField(
            model_name='apikey',
            name='state',
            field=models.CharField(choices=[('new', 'waits for its test'), ('active', 'Active'), ('retiring', 'Retiring'), ('erased', 'Erased')], default='active', max_length=10),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['active', 'new'])), fields=('connection', 'state'), name='one_active_and_one_new_key'),
        ),
    ]
