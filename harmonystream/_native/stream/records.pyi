from typing_extensions import disjoint_base

DEBUG: bool

@disjoint_base
class EventMaker:
    """Makes the events of one stream out of its records."""
