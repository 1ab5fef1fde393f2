"""Servers and engines. Each module imports its own: nothing here is loaded with the package."""
