DEBUG: bool
__pyx_capi__: dict[str, object]
