"""Measurements. `python -m tests.bench` runs all; each is a module with `main(arguments)`."""
