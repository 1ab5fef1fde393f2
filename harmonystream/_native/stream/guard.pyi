from typing import final

DEBUG: bool

@final
class Guard: ...
