"""`python -m harmonystream` is the command `harmonystream`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
