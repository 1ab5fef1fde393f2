"""Other libraries' names over this one's machines: what imports them can import these instead."""
