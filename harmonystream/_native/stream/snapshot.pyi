DEBUG: bool
VERSION: int
__pyx_capi__: dict[str, object]
