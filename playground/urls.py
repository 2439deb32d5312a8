"""Addresses, as plain lists by prefix."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

from playground.views import (
    account,
    annotations,
    compose,
    health,
    history,
    outputs,
    reference,
    tokens,
    tools,
)

comparison_urls = [
    path("", compose.start, name="start"),
    path("<int:pk>/", compose.comparison, name="comparison"),
    path("<int:pk>/stop/", compose.stop_all, name="stop_all"),
]

# How one run's output is looked at.
view_urls = [
    path("text/", outputs.text, name="run_text"),
    path("prompt/", outputs.prompt, name="run_prompt"),
    path("markdown/", outputs.markdown, name="run_markdown"),
    path("json/", outputs.json_view, name="run_json"),
    path("sent/", outputs.sent, name="run_sent"),
]

run_urls = [
    path("", history.runs, name="runs"),
    path("<int:pk>/", history.run, name="run"),
    path("<int:pk>/", include(view_urls)),
    path("<int:pk>/stop/", compose.stop, name="stop"),
    path("<int:pk>/labels/", annotations.labels, name="labels"),
    path("<int:pk>/star/", annotations.star, name="star"),
    path("<int:pk>/rating/", annotations.rate, name="rate"),
    path("<int:pk>/comments/", annotations.comments, name="comments"),
    path("<int:pk>/branch/", tokens.continue_from, name="branch"),
]

urlpatterns = [
    path("", compose.compose, name="compose"),
    path("comparisons/", include(comparison_urls)),
    path("runs/", include(run_urls)),
    path("tokens/", tokens.tokens, name="run_tokens"),
    path("history/", history.history, name="history"),
    path("comments/<int:pk>/", annotations.comment, name="comment"),
    path("labels/known/", annotations.known_labels, name="known_labels"),
    path("reference/", reference.reference, name="reference"),
    path("check/", tools.check, name="check"),
    path("plan/", tools.plan, name="plan"),
    path("table/", tools.table, name="table"),
    path("code/", tools.code, name="code"),
    path("paste/", tools.paste, name="paste"),
    path("connections/<int:pk>/tokens/", tools.tokens, name="tokens"),
    path("backends/", compose.backends, name="backends"),
    path("connections/<int:pk>/models/", compose.models, name="models"),
    path("login/", account.Login.as_view(), name="login"),
    path("login/<str:token>/", account.login_link, name="login_link"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("password/", account.password, name="password"),
    path("teams/<int:pk>/", account.switch_team, name="team"),
    path("admin/", admin.site.urls),
    path("healthz", health.healthz, name="health"),
    path("favicon.ico", health.favicon),
]
