from django.conf import settings
from django.db import migrations, models
import django.core.validators
import django.db.models.deletion
import django.utils.timezone


class Migration(migrations.Migration):
    dependencies = [("playground", "0008_search")]

    operations = [
        migrations.AddField(
            model_name='comparison',
            name='author_name',
            field=models.CharField(blank=True, max_length=150),
        ),
        migrations.AddField(
            model_name='run',
            name='author_name',
            field=models.CharField(blank=True, max_length=150),
        ),
        migrations.AddField(
            model_name='run',
            name='rating',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='starred',
            field=models.BooleanField(default=False),
        ),
        migrations.CreateModel(
            name='Comment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('author_name', models.CharField(blank=True, max_length=150)),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='comments', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comments', to='playground.run')),
            ],
            options={
                'ordering': ['created_at', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Rating',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('value', models.PositiveSmallIntegerField(validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(5)])),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='ratings', to='playground.run')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='ratings', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'user'), name='one_rating_per_run_and_user'), models.CheckConstraint(condition=models.Q(('value__gte', 1), ('value__lte', 5)), name='rating_from_1_to_5')],
            },
        ),
        migrations.CreateModel(
            name='Batch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ids', models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name='Chore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40, unique=True)),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('label', 'Add the label'), ('unlabel', 'Remove the label'), ('merge', 'Merge into the label'), ('trash', 'Move to the trash'), ('restore', 'Take out of the trash'), ('star', 'Star'), ('unstar', 'Take the star away')], max_length=10)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('finished', 'Done'), ('stopped', 'Stopped'), ('failed', 'Failed')], default='waiting', max_length=10)),
                ('name', models.CharField(blank=True, max_length=100)),
                ('total', models.PositiveIntegerField()),
                ('done', models.PositiveIntegerField(default=0)),
                ('error', models.TextField(blank=True)),
                ('lease', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Retention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('trash_after', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(3650)])),
                ('purge_after', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(3650)])),
                ('keep_starred', models.BooleanField(default=True)),
            ],
        ),
        migrations.CreateModel(
            name='Share',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('author_name', models.CharField(blank=True, max_length=150)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('ending', models.CharField(max_length=4)),
                ('letters', models.CharField(max_length=100)),
                ('snapshot', models.TextField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('revoked_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.AddField(
            model_name='comparison',
            name='purged_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='comparison',
            name='restored_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name='comparison',
            index=models.Index(condition=models.Q(('deleted_at__isnull', False)), fields=['team', 'deleted_at'], name='trash_of_a_team'),
        ),
        migrations.AddIndex(
            model_name='comparison',
            index=models.Index(condition=models.Q(('purged_at__isnull', False)), fields=['purged_at'], name='purged_comparisons'),
        ),
        migrations.AddField(
            model_name='job',
            name='author',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='job',
            name='label',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='playground.label'),
        ),
        migrations.AddField(
            model_name='job',
            name='source',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='playground.label'),
        ),
        migrations.AddField(
            model_name='job',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='playground.team'),
        ),
        migrations.AddField(
            model_name='batch',
            name='job',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='batches', to='playground.job'),
        ),
        migrations.AddField(
            model_name='retention',
            name='keep_labels',
            field=models.ManyToManyField(blank=True, related_name='protecting', to='playground.label'),
        ),
        migrations.AddField(
            model_name='retention',
            name='team',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='retention', to='playground.team'),
        ),
        migrations.AddField(
            model_name='share',
            name='author',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='shares', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='share',
            name='comparison',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='playground.comparison'),
        ),
        migrations.AddField(
            model_name='share',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='playground.team'),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["team", "-created_at", "-comparison", "-id"],
                name="runs_starred",
                condition=models.Q(starred=True),
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["team", "-created_at", "-comparison", "-id"],
                name="runs_rated",
                condition=models.Q(rating__isnull=False),
            ),
        ),
    ]
