"""Runs as files, and files as runs. `docs/exchange.md` has the format."""
