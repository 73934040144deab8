"""The suite: one file per chapter of the protocol. Run it with pytest, on any backend."""
