"""Servers and engines. Each module imports its own dependencies. Importing the package loads nothing from here."""
