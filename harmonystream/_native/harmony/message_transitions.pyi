DEBUG: bool
__pyx_capi__: dict[str, object]

TRANSITIONS: tuple[tuple[str, str, str, str], ...]
