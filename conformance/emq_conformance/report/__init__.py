"""What a run found, law by law, and how it is shown."""
