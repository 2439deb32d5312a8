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
    ]
