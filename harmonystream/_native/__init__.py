"""The compiled modules. Their sources are in ext/; ext/README.md is the way through them."""
