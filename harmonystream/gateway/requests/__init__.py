"""Requests: reads bodies, options and tools with the tables of each API."""
