import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import playground.fields
import playground.models.invitations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('playground', '0006_limits'),
    ]

    operations = [
        migrations.CreateModel(
            name='Attempts',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=64, unique=True)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('last_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.AddField(
            model_name='user',
            name='may_link',
            field=models.BooleanField(default=False, help_text='The next sign-in through OpenID Connect with this e-mail address, verified there, becomes a sign-in of this account. Then this is switched off again.', verbose_name='may link a sign-in'),
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('member', 'Member'), ('reviewer', 'Reviewer')], default='member', max_length=10)),
                ('note', models.CharField(blank=True, max_length=200, verbose_name='for whom')),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('ending', models.CharField(editable=False, max_length=4)),
                ('most_uses', models.PositiveIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='how many may join')),
                ('used', models.PositiveIntegerField(default=0, editable=False)),
                ('made_by_name', models.CharField(editable=False, max_length=150, verbose_name='by')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='made')),
                ('expires_at', models.DateTimeField(default=playground.models.invitations.week_from_now, editable=False, verbose_name='until')),
                ('revoked_at', models.DateTimeField(editable=False, null=True)),
                ('made_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='playground.team')),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('used_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('secret', playground.fields.EncryptedTextField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('last_step', models.BigIntegerField(default=0)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='second_factor', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'second factor',
            },
        ),
    ]
