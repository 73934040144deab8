"""Compliance suite for leased job queues on Redis and Valkey."""
