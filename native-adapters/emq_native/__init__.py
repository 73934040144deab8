"""The native server module, the verbs as commands in C: its sources are yet to come."""
