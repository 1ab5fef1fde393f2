"""The state machine of Harmony, with the grammar of its headers."""
