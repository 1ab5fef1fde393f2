"""What the application answers beside the three APIs: pages of other origins, and which models there are."""

from __future__ import annotations

import pytest
from gateways import ANSWER, ASKED, GPT_OSS, gateway, script_of

ORIGIN = "https://example.org"


def allowed(made, origin):
    """What a browser reads before and after a request of a page."""
    asks = {"origin": origin, "access-control-request-method": "POST", "access-control-request-headers": "x-api-key"}
    before = made.http.options("/v1/chat/completions", headers=asks)
    after = made.http.post("/v1/chat/completions", json={"model": GPT_OSS, **ASKED["chat"]}, headers={"origin": origin})
    assert after.status_code in (200, 403)
    return [one.headers.get("access-control-allow-origin") for one in (before, after)]


def test_pages_of_other_origins_may_not_ask_unless_they_are_named():
    with gateway(script_of(ANSWER)) as made:
        assert allowed(made, ORIGIN) == [None, None]
    with gateway(script_of(ANSWER), app_options={"origins": [ORIGIN]}) as made:
        assert allowed(made, ORIGIN) == [ORIGIN, ORIGIN]
        assert allowed(made, "https://example.com") == [None, None]


@pytest.mark.parametrize("name", [GPT_OSS, "short"])
def test_a_model_is_listed_under_all_its_names(name):
    with gateway(script_of(ANSWER), aliases=["short"]) as made, made.clients() as clients:
        assert [one.id for one in clients.openai.models.list()] == [GPT_OSS, "short"]
        assert [one.id for one in clients.anthropic.models.list()] == [GPT_OSS, "short"]
        assert clients.openai.models.retrieve(name).id == name
