import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playground", "0005_keys")]

    operations = [
        migrations.AddField(
            model_name="connection",
            name="assumed_tokens",
            field=models.PositiveIntegerField(
                default=4096,
                help_text="Tokens. Limits and worst-case costs count with it where a request sets no max_tokens.",
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="assumed longest answer",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="cost",
            field=models.DecimalField(decimal_places=10, max_digits=20, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="cost_is_own",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="run",
            name="price_cached",
            field=models.DecimalField(decimal_places=6, max_digits=14, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="price_input",
            field=models.DecimalField(decimal_places=6, max_digits=14, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="price_output",
            field=models.DecimalField(decimal_places=6, max_digits=14, null=True),
        ),
        migrations.CreateModel(
            name="Price",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("model", models.CharField(blank=True, help_text="A model's name, or the beginning of names with * at the end, such as gpt-4*. Empty: all other models.", max_length=300)),
                ("input_per_million", models.DecimalField(decimal_places=6, help_text="US dollars for a million tokens.", max_digits=14, validators=[django.core.validators.MinValueValidator(0)], verbose_name="prompt")),
                ("cached_per_million", models.DecimalField(blank=True, decimal_places=6, help_text="For prompt tokens that the backend had in its cache. Empty: as the prompt.", max_digits=14, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name="cached prompt")),
                ("output_per_million", models.DecimalField(decimal_places=6, help_text="US dollars for a million tokens, reasoning included.", max_digits=14, validators=[django.core.validators.MinValueValidator(0)], verbose_name="answer")),
                ("connection", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="prices", to="playground.connection")),
            ],
            options={
                "ordering": ["connection", "model"],
                "constraints": [models.UniqueConstraint(fields=("connection", "model"), name="one_price_per_model")],
            },
        ),
        migrations.CreateModel(
            name='Limit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('each_member', models.BooleanField(default=False, help_text='Everybody has this much for themselves. Otherwise all share it.', verbose_name='for each member separately')),
                ('kind', models.CharField(choices=[('rate', 'requests a minute'), ('parallel', 'parallel requests'), ('tokens_day', 'tokens a day'), ('tokens_month', 'tokens a month'), ('money_day', 'US dollars a day'), ('money_month', 'US dollars a month')], max_length=20)),
                ('amount', models.DecimalField(decimal_places=4, help_text='0: nothing at all.', max_digits=16, validators=[django.core.validators.MinValueValidator(0)])),
            ],
            options={
                'ordering': ['kind', 'connection', 'team', 'member', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Meter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.PositiveBigIntegerField(default=0)),
                ('period', models.DateField()),
                ('spent', models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.AddField(
            model_name='run',
            name='counted_money',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='run',
            name='counted_tokens',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['started_at'], name='runs_by_start'),
        ),
        migrations.AddField(
            model_name='limit',
            name='connection',
            field=models.ForeignKey(blank=True, help_text='Empty: all connections together.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='limits', to='playground.connection'),
        ),
        migrations.AddField(
            model_name='limit',
            name='member',
            field=models.ForeignKey(blank=True, help_text='One person. Empty: everybody.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='limits', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='limit',
            name='team',
            field=models.ForeignKey(blank=True, help_text='Empty: all teams together.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='limits', to='playground.team'),
        ),
        migrations.AddField(
            model_name='meter',
            name='limit',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='meters', to='playground.limit'),
        ),
        migrations.AddConstraint(
            model_name='meter',
            constraint=models.UniqueConstraint(fields=('limit', 'subject', 'period'), name='one_meter_per_limit_and_period'),
        ),
    ]
