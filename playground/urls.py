"""Addresses, as plain lists by prefix."""

from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from playground.views import (
    account,
    again,
    annotations,
    bulk,
    columns,
    compare,
    compose,
    difference,
    drafts,
    exchange,
    facets,
    factors,
    grid,
    health,
    history,
    labels,
    limits,
    listing,
    outputs,
    palette,
    panels,
    presets,
    reference,
    reviews,
    running,
    saved,
    sessions,
    shares,
    stats,
    stats_csv,
    table,
    team,
    timeline,
    tokens,
    tools,
    trash,
    triage,
    verdict,
)

comparison_urls = [
    path("", running.start, name="start"),
    path("<int:pk>/", compose.comparison, name="comparison"),
    path("<int:pk>/stop/", running.stop_all, name="stop_all"),
    path("<int:pk>/table/", table.table, name="rows"),
    path("<int:pk>/table.csv", table.export, name="rows_csv"),
    path("<int:pk>/visibility/", trash.visibility, name="visibility"),
    path("<int:pk>/trash/", trash.trash, name="to_trash"),
    path("<int:pk>/restore/", trash.restore, name="restore"),
    path("<int:pk>/purge/", trash.purge, name="purge"),
    path("<int:pk>/share/", shares.share, name="share"),
]

# How one run's output is looked at.
view_urls = [
    path("text/", outputs.text, name="run_text"),
    path("continuation/", outputs.continuation, name="run_continuation"),
    path("prompt/", outputs.prompt, name="run_prompt"),
    path("markdown/", outputs.markdown, name="run_markdown"),
    path("json/", outputs.json_view, name="run_json"),
    path("sent/", outputs.sent, name="run_sent"),
]

run_urls: list[URLPattern | URLResolver] = [
    path("", history.runs, name="runs"),
    path("timeline/", timeline.timeline, name="timeline"),
    path("arrivals/", timeline.arrivals, name="arrivals"),
    path("difference/", difference.difference, name="difference"),
    path("cells/", grid.cells, name="cells"),
    path("<int:pk>/", history.run, name="run"),
    path("<int:pk>/", include(view_urls)),
    path("<int:pk>/stop/", running.stop, name="stop"),
    path("<int:pk>/labels/", annotations.labels, name="labels"),
    path("<int:pk>/facts/", annotations.facts, name="facts"),
    path("<int:pk>/star/", annotations.star, name="star"),
    path("<int:pk>/rating/", annotations.rate, name="rate"),
    path("<int:pk>/comments/", annotations.comments, name="comments"),
    path("<int:pk>/probabilities/", tokens.heat, name="run_probabilities"),
    path("<int:pk>/branch/", tokens.continue_from, name="branch"),
    path("<int:pk>/again/", columns.again, name="again"),
    path("<int:pk>/settings/", columns.settings, name="settings"),
]

preset_urls = [
    path("", presets.presets, name="presets"),
    path("<int:pk>/", presets.change, name="preset"),
    path("<int:pk>/delete/", presets.delete, name="preset_delete"),
]

draft_urls = [
    path("", drafts.drafts, name="drafts"),
    path("save/", drafts.save, name="draft_save"),
    path("<int:pk>/", drafts.draft, name="draft"),
]

history_urls: list[URLPattern] = [
    path("", listing.history, name="history"),
    path("facets/", facets.facets, name="history_facets"),
    path("complete/", facets.complete, name="history_complete"),
    path("again/", again.again, name="history_again"),
    path("filters/", listing.filters, name="history_filters"),
    path("views/", saved.save_view, name="save_view"),
    path("views/<int:pk>/delete/", saved.delete_view, name="delete_view"),
    path("runs/<int:pk>/", listing.preview, name="history_preview"),
    path("comparisons/<int:pk>/", listing.unfold, name="history_unfold"),
]

stats_urls: list[URLPattern] = [
    path("", stats.stats, name="stats"),
    path("csv/", stats_csv.export, name="stats_csv"),
]

team_urls = [
    path("", team.team, name="team_page"),
    path("invitations/", team.invite, name="invite"),
    path("invitations/<int:pk>/revoke/", team.revoke, name="revoke_invitation"),
    path("members/<int:pk>/", team.member, name="team_member"),
]

panel_urls = [
    path("", panels.panel, name="panel"),
    path("vote/", panels.vote, name="vote"),
    path("reveal/", panels.reveal, name="reveal"),
    path("result/", verdict.result, name="panel_result"),
    path("rounds/<int:position>/", verdict.panel_round, name="panel_round"),
    path("votes.csv", verdict.votes_csv, name="votes_csv"),
    path("delete/", panels.delete_panel, name="panel_delete"),
]

queue_urls = [
    path("", reviews.queue, name="queue"),
    path("items/<int:item_pk>/", reviews.item, name="queue_item"),
    path("progress/", reviews.progress, name="queue_progress"),
    path("take/", reviews.take, name="queue_take"),
    path("delete/", reviews.delete_queue, name="queue_delete"),
]

review_urls: list[URLPattern | URLResolver] = [
    path("", reviews.reviews, name="reviews"),
    path("new/", reviews.new, name="review_new"),
    path("queues/<int:pk>/", include(queue_urls)),
    path("panels/<int:pk>/", include(panel_urls)),
]

urlpatterns = [
    path("", compose.compose, name="compose"),
    path("palette/", palette.palette, name="palette"),
    path("presets/", include(preset_urls)),
    path("drafts/", include(draft_urls)),
    path("comparisons/", include(comparison_urls)),
    path("runs/", include(run_urls)),
    path("tokens/", tokens.tokens, name="run_tokens"),
    path("history/", include(history_urls)),
    path("stats/", include(stats_urls)),
    path("review/", include(review_urls)),
    path("triage/", triage.triage, name="triage"),
    path("compare/", compare.compare, name="compare"),
    path("comments/<int:pk>/", annotations.comment, name="comment"),
    path("labels/", labels.team_labels, name="labels_page"),
    path("labels/known/", annotations.known_labels, name="known_labels"),
    path("labels/<int:pk>/", labels.rename, name="rename_label"),
    path("bulk/", bulk.bulk, name="bulk"),
    path("jobs/<int:pk>/", bulk.job, name="job"),
    path("jobs/<int:pk>/stop/", bulk.stop_job, name="stop_job"),
    path("jobs/<int:pk>/undo/", bulk.undo_job, name="undo_job"),
    path("export/", exchange.export, name="export"),
    path("import/", exchange.import_runs, name="import"),
    path("transfers/<int:pk>/", exchange.transfer, name="transfer"),
    path("transfers/<int:pk>/file/", exchange.transfer_file, name="transfer_file"),
    path("transfers/<int:pk>/stop/", exchange.stop_transfer, name="stop_transfer"),
    path("trash/", trash.trash_page, name="trash"),
    path("trash/rules/", trash.retention, name="retention"),
    path("shares/", shares.shares, name="shares"),
    path("shares/<int:pk>/revoke/", shares.revoke, name="revoke"),
    path("s/<str:token>/", shares.shared, name="shared"),
    path("keys/", palette.keys, name="keys"),
    path("reference/", reference.reference, name="reference"),
    path("check/", tools.check, name="check"),
    path("plan/", tools.plan, name="plan"),
    path("limits/left/", limits.left, name="left"),
    path("table/", tools.table, name="table"),
    path("code/", tools.code, name="code"),
    path("paste/", tools.paste, name="paste"),
    path("connections/<int:pk>/tokens/", tools.tokens, name="tokens"),
    path("connections/<int:pk>/context/", tools.context, name="context"),
    path("backends/", compose.backends, name="backends"),
    path("connections/<int:pk>/models/", compose.models, name="models"),
    path("login/", account.log_in, name="login"),
    path("login/code/", account.login_code, name="login_code"),
    path("login/<str:token>/", account.login_link, name="login_link"),
    path("logout/", account.log_out, name="logout"),
    path("password/", account.password, name="password"),
    path("two-factor/", factors.two_factor, name="two_factor"),
    path("two-factor/confirm/", factors.confirm, name="two_factor_confirm"),
    path("two-factor/change/", factors.change, name="two_factor_change"),
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/end/", sessions.end_others, name="sessions_end_others"),
    path("sessions/<int:pk>/end/", sessions.end, name="sessions_end"),
    path("confirm/", sessions.confirm, name="confirm"),
    path("team/", include(team_urls)),
    path("join/<str:token>/", team.join, name="join"),
    path("teams/<int:pk>/", account.switch_team, name="team"),
    path("admin/", admin.site.urls),
    path("favicon.ico", health.favicon),
]

if settings.OIDC:
    urlpatterns.append(path("oidc/", include("playground.oidc")))

handler500 = health.server_error
