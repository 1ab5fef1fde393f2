"""From a request to the items of its answer: models, engines, plans, time limits, and tools that run here."""
