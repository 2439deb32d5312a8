"""Instead of Django's “Nov. 30, 2026, 12:24 a.m.”."""

DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "Y-m-d H:i"
