"""Who hears of what, how often, and what happens to one that raises."""

from __future__ import annotations

import logging

import pytest

import harmonystream as hs
from harmonystream.tools import Registered
from harmonystream.tools.listeners import Listeners

MOMENT = Registered(hs.Tool("f"), None)


def test_on_hears_always_and_once_hears_once():
    listeners, heard = Listeners(), []
    stop = listeners.on("registered", lambda event: heard.append("on"))
    listeners.once("registered", lambda event: heard.append("once"))
    never = listeners.once("registered", lambda event: heard.append("never"))
    never()
    never()
    for _ in range(2):
        listeners.notify(MOMENT)
    stop()
    listeners.notify(MOMENT)
    assert heard == ["on", "once", "on"]


def test_once_is_once_even_if_it_causes_the_next_moment():
    listeners, heard = Listeners(), []

    def listener(event):
        heard.append(event)
        listeners.notify(MOMENT)

    listeners.once("registered", listener)
    listeners.notify(MOMENT)
    assert heard == [MOMENT]


def test_the_same_function_may_listen_twice():
    listeners, heard = Listeners(), []
    stop = listeners.on("registered", heard.append)
    listeners.on("registered", heard.append)
    listeners.notify(MOMENT)
    stop()
    listeners.notify(MOMENT)
    assert len(heard) == 3


def test_a_listener_that_raises_is_logged(caplog):
    listeners, heard = Listeners(), []
    listeners.on("registered", lambda event: 1 / 0)
    listeners.on("registered", heard.append)
    with caplog.at_level(logging.ERROR, logger="harmonystream.tools"):
        listeners.notify(MOMENT)
    assert heard == [MOMENT]
    assert [record.getMessage() for record in caplog.records] == ["a listener of Registered raised"]


def test_unknown_moments_and_coroutine_functions_are_refused():
    async def listener(event): ...

    with pytest.raises(ValueError, match="a moment is one of 'registered', 'called', 'answered', not 'asked'"):
        hs.Tools().on("asked", print)
    with pytest.raises(TypeError, match="a plain function"):
        hs.Tools().on("called", listener)
