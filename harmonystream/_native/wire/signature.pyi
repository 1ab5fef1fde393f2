DEBUG: bool
__pyx_capi__: dict[str, object]

def signature(id: str, text: str, /) -> str:
    """The signature of a text in the response with this id. Raises UnicodeEncodeError for lone surrogates."""
