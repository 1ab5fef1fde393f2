from typing import final

DEBUG: bool
__pyx_capi__: dict[str, object]

@final
class TokenTexts:
    """The texts of ids as str. Shared by all streams of a program."""
