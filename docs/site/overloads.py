"""An extension of griffe: a function that a stub has only as overloads is a function, too."""

from __future__ import annotations

from typing import Any

import griffe


class Overloads(griffe.Extension):
    """Gives such a function its first overload's docstring, and all signatures."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called when the package has been read, before names are resolved."""
        for module in modules_of(pkg):
            for name, overloads in module.overloads.items():
                if overloads and name not in module.members:
                    function = overloads[0]
                    function.overloads = list(overloads)
                    module.set_member(name, function)


def modules_of(module: griffe.Module) -> list[griffe.Module]:
    """A module and all that it contains."""
    return [module, *(inner for member in module.modules.values() for inner in modules_of(member))]
