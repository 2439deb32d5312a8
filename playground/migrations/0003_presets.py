import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('playground', '0002_lessons'),
    ]

    operations = [
        migrations.CreateModel(
            name='Draft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kept', models.BooleanField(default=False)),
                ('document', models.TextField()),
                ('version', models.PositiveIntegerField(default=1)),
                ('saved_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('page', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='drafts', to='playground.comparison')),
                ('ran', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='playground.comparison')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='drafts', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('kept', False), ('page', None)), fields=('user',), name='one_working_draft'), models.UniqueConstraint(condition=models.Q(('kept', False)), fields=('user', 'page'), name='one_draft_of_a_comparison')],
            },
        ),
        migrations.CreateModel(
            name='Preset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shared', models.BooleanField(default=False)),
                ('name', models.CharField(max_length=60)),
                ('settings', models.TextField()),
                ('saved_at', models.DateTimeField(auto_now=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='presets', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='presets', to='playground.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('author'), django.db.models.functions.text.Lower('name'), name='one_preset_of_a_name')],
            },
        ),
    ]
