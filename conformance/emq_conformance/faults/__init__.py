"""Faults that the suite must catch: each breaks one law, and the run must say which."""
