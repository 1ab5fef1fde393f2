from typing_extensions import disjoint_base

DEBUG: bool

@disjoint_base
    """Makes the events of one stream out of its records."""
class EventMaker: ...
