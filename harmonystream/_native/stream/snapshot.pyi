from typing import final

DEBUG: bool
VERSION: int
__pyx_capi__: dict[str, object]

@final
class Blob:
    """What to_bytes() wrote: the state, and the options and fingerprints that it belongs to."""
