"""From a request to the items of its answer: models, engines, plans, limits of time, and tools that run here."""
