"""The state machine of formats whose calls are written between tags."""
