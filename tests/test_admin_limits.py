"""Limits in the admin site: set, seen with their use, kept in the audit log."""

import json

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from playground.models import AuditEntry, Connection, Limit, Meter, Team, User
from playground.reaper import this_process
from tests.test_limits import begin

pytestmark = pytest.mark.django_db

LIST = reverse("admin:playground_limit_changelist")
ADD = reverse("admin:playground_limit_add")


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_an_admin_sets_a_limit_and_it_is_recorded(
    admin: Client, connection: Connection, team: Team
) -> None:
    form = {"kind": "money_day", "amount": "2.5", "connection": connection.pk, "team": team.pk}
    assert admin.post(ADD, form).status_code == 302
    made = Limit.objects.get()
    assert str(made) == "$2.50 a day for team Evals at fake"
    entry = AuditEntry.objects.filter(kind="limit").latest("pk")
    assert (entry.action, entry.actor_name) == ("created", "root")
    again = admin.post(ADD, form).content.decode()
    assert "There is such a limit already" in again


def test_an_amount_that_could_not_be_read_again_is_refused(admin: Client) -> None:
    answer = admin.post(ADD, {"kind": "money_month", "amount": "999999999999.9999"})
    assert "Enter less than 100,000,000,000." in answer.content.decode()
    assert admin.post(ADD, {"kind": "money_month", "amount": "99999999999.9999"}).status_code == 302
    assert admin.get(LIST).status_code == 200


def test_only_the_amount_of_a_limit_can_be_changed(admin: Client, connection: Connection) -> None:
    made = Limit.objects.create(kind="rate", amount=5, connection=connection)
    page = reverse("admin:playground_limit_change", args=[made.pk])
    form = {"amount": "7", "kind": "parallel", "connection": "", "each_member": "on"}
    assert admin.post(page, form).status_code == 302
    made.refresh_from_db()
    assert (made.amount, made.kind, made.connection) == (7, "rate", connection)
    entry = AuditEntry.objects.filter(kind="limit").latest("pk")
    assert list(json.loads(entry.detail)) == ["amount"]
    assert "whole number" in admin.post(page, {"amount": "1.5"}).content.decode()


def test_the_list_says_how_far_and_who_is_near(
    admin: Client, alice: User, bob: User, connection: Connection, team: Team
) -> None:
    each = Limit.objects.create(kind="money_month", amount=10, team=team, each_member=True)
    Limit.objects.create(kind="tokens_day", amount=1000, connection=connection)
    Limit.objects.create(kind="tokens_month", amount=9999)
    period = each.period(timezone.now())
    each.meters.create(subject=bob.pk, period=period, spent=85 * 10**9)
    begin(alice, connection, this_process(), 2)
    Meter.objects.filter(limit__kind="tokens_month").delete()
    meters = Meter.objects.count()
    text = admin.get(LIST).content.decode()
    assert "202 of 1,000" in text
    assert "$8.50 of $10" in text
    assert text.index("bob") < text.index("alice")
    assert text.count("near the limit") == 1
    assert "202 of 9,999" in text
    assert Meter.objects.count() == meters  # looking writes nothing
    near = admin.get(LIST, {"use": "near"}).content.decode()
    assert "$8.50 of $10" in near
    assert "202 of 1,000" not in near


def test_only_admins_see_limits(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get(LIST).status_code == 302
    alice.is_staff = True
    alice.save()
    assert client.get(LIST).status_code == 403
