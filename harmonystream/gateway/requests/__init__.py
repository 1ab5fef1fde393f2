"""What clients ask for: bodies, options and tools, read by the tables of each API."""
