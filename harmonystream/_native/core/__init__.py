"""What every room uses. Knows no format and makes no event."""
