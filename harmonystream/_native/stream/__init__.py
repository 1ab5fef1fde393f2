"""A parser over one stream: programs, prompts, events, snapshots."""
