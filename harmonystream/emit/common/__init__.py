"""What the three APIs share: the stream of events, its state, and the parts of requests and payloads."""
