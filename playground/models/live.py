"""What a run is that has not ended, and how such runs are found among a million others."""

from django.db import models

from playground.completion import RunStatus

LIVE = (RunStatus.QUEUED, RunStatus.RUNNING)


class IsLive(models.Func):
    """A condition: `status` is one of LIVE, in the very words of the index `live_runs`.

    From parameters SQLite cannot tell that this index will do, and reads every run there is.
    """

    template = "%(expressions)s IN ('queued', 'running')"
    output_field = models.BooleanField()

    def __init__(self) -> None:
        super().__init__("status")
