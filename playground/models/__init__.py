"""State: teams, connections, runs, labels. Knows no provider and no HTTP."""

from playground.models import access
from playground.models.annotations import Comment, Rating
from playground.models.audit import AuditEntry
from playground.models.ballots import Ballot, Judge
from playground.models.batches import Batch
from playground.models.blocks import Block, BlockTally
from playground.models.choices import Choice
from playground.models.chores import Chore
from playground.models.comparisons import Comparison
from playground.models.connections import Connection
from playground.models.counts import LabelTally, Tally
from playground.models.drafts import Draft
from playground.models.events import RunEvent
from playground.models.factors import RecoveryCode, SecondFactor
from playground.models.facts import RunFact
from playground.models.gate import OverLimit
from playground.models.invitations import Invitation
from playground.models.jobs import Job
from playground.models.keys import ApiKey
from playground.models.labels import Label, RunLabel
from playground.models.lessons import Memory
from playground.models.limits import Limit, Meter
from playground.models.logins import Login
from playground.models.panels import Entry, Panel, Round, Seat
from playground.models.presets import Preset
from playground.models.prices import Price
from playground.models.processes import Process
from playground.models.retention import Retention
from playground.models.reviews import Queue, QueueItem
from playground.models.runs import Run
from playground.models.search import SearchText
from playground.models.seen import Seen
from playground.models.shares import Share
from playground.models.tallies import Stale
from playground.models.teams import LastOwner, LoginLink, Membership, Team, User, first_start
from playground.models.throttle import Attempts
from playground.models.transfers import Transfer
from playground.models.views import SavedView

__all__ = [
    "ApiKey",
    "Attempts",
    "AuditEntry",
    "Ballot",
    "Batch",
    "Block",
    "BlockTally",
    "Choice",
    "Chore",
    "Comment",
    "Comparison",
    "Connection",
    "Draft",
    "Entry",
    "Invitation",
    "Job",
    "Judge",
    "Label",
    "LabelTally",
    "LastOwner",
    "Limit",
    "Login",
    "LoginLink",
    "Membership",
    "Memory",
    "Meter",
    "OverLimit",
    "Panel",
    "Preset",
    "Price",
    "Process",
    "Queue",
    "QueueItem",
    "Rating",
    "RecoveryCode",
    "Retention",
    "Round",
    "Run",
    "RunEvent",
    "RunFact",
    "RunLabel",
    "SavedView",
    "SearchText",
    "Seat",
    "SecondFactor",
    "Seen",
    "Share",
    "Stale",
    "Tally",
    "Team",
    "Transfer",
    "User",
    "access",
    "first_start",
]
