"""Emitters: a parser's events as the bytes of an API."""
