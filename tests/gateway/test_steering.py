"""Generations that are steered: budgets of reasoning, calls that must come, and answers of a form."""

from __future__ import annotations

import asyncio
import json
import random

import pytest
from gateways import ADD, TOOLS, gateway, ids_of, script_of
from scripted import Scripted

import harmonystream as hs
from harmonystream.agent.steering import MOST_CLOSES, Plan, steered
from harmonystream.engines import Completions, EngineError, Finished, LlamaServer, Sampling
from harmonystream.engines.base import Arrived, chat_usage
from harmonystream.formats import format_of
from harmonystream.gateway.generating.plans import plan_of
from harmonystream.gateway.refused import Refused
from harmonystream.gateway.requests.request import ApiRequest

THOUGHT = "<|channel|>analysis<|message|>One two three four five six"


def play(engine, plan, *, max_tokens=99, prompt=None):
    prompt = prompt or hs.render("?", model="gpt-oss")

    async def collect():
        return [item async for item in steered(engine.generate, prompt, Sampling(max_tokens=max_tokens), plan)]

    return prompt, asyncio.run(collect())


def parsed(prompt, items):
    parser = prompt.parser()
    events = []
    for item in items:
        if isinstance(item, Finished):
            events += parser.finish(item.reason)
        else:
            events += parser.feed_text(item) if isinstance(item, str) else parser.feed(item)
    return parser, events


def texts(events):
    reasoning = "".join(e.text for e in events if isinstance(e, hs.ReasoningDelta))
    content = "".join(e.text for e in events if isinstance(e, hs.ContentDelta))
    return reasoning, content


def spelled(ids):
    return b"".join(map(hs.vocab.o200k_harmony().token_bytes, ids)).decode()


FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_reasoning_ends_at_the_budget_and_the_answer_goes_on(chunk):
    ids = ids_of(THOUGHT)
    thought = [ids[at : at + chunk] for at in range(0, len(ids), chunk)]
    engine = Scripted([*thought, Finished("length")], [ids_of("Six.<|return|>"), Finished("stop")])
    prompt, items = play(engine, Plan(budget=3, closes=(FINAL,)))
    assert texts(parsed(prompt, items)[1]) == ("One two three", "Six.")
    assert list(engine.prompts[1].ids) == prompt.ids + ids_of("<|channel|>analysis<|message|>One two three" + FINAL)
    assert engine.prompts[1].text == prompt.text + "<|channel|>analysis<|message|>One two three" + FINAL
    assert engine.samplings[1].max_tokens == 99 - 6 - 6
    assert engine.closed == 2
    said = sum(len(item) for item in items[:-1])
    assert items[-1] == Finished("stop", chat_usage(len(prompt.ids), said))


def test_a_model_that_goes_on_reasoning_is_sent_to_its_answer():
    more = [ids_of("<|channel|>analysis<|message|>And more"), Finished("length")]
    engine = Scripted([ids_of(THOUGHT)], more, [ids_of("Done."), Finished("stop")])
    prompt, items = play(engine, Plan(budget=2, closes=("<|end|><|start|>assistant", FINAL)))
    assert texts(parsed(prompt, items)[1]) == ("One two", "Done.")
    assert engine.prompts[2].text.endswith(FINAL)


@pytest.mark.parametrize("text", [False, True])
def test_a_model_that_begins_to_reason_again_and_again_costs_few_requests(text):
    again = "<think>No. " if text else ids_of("<|start|>assistant<|channel|>analysis<|message|>No.")
    engine = Scripted([again, again, again, Finished("length")])
    own = {"prompt": hs.prompts.Prompt("<|im_start|>assistant\n", None, format_of("hermes"))} if text else {}
    _, items = play(engine, Plan(budget=0, closes=("</think>" if text else "<|end|>",)), max_tokens=400, **own)
    assert len(engine.prompts) <= MOST_CLOSES + 1
    assert items[-1].reason == "length"


def test_the_counts_of_engines_of_text_are_added():
    prompt = hs.prompts.Prompt("<|im_start|>assistant\n<think>\n", None, format_of("hermes"))
    counted = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    _, items = play(Scripted(["Hm</think>", "Yes.", Finished("stop", counted)]), Plan(budget=50), prompt=prompt)
    assert items[-1].usage == counted


def in_chunks(ids, rng):
    while ids:
        size = rng.randint(1, 5)
        yield ids[:size]
        ids = ids[size:]


@pytest.mark.parametrize("seed", range(20))
def test_stop_strings_and_a_budget_share_a_parser(seed):
    """The answer is that of the same ids cut by `stopping`, which reads where the emitter's parser is."""
    rng = random.Random(seed)
    thought, answer = "<|channel|>analysis<|message|>a END b", "One, two END, \U0001f600 three.<|return|>"
    stops = rng.choice([["END"], ["D, "], ["END", " two E"], ["\U0001f600"], ["."], ["zz"], ["ee.x", "o EN"], ["b"]])
    closed = rng.random() < 0.5
    first = ids_of(thought) if closed else ids_of(thought + FINAL)
    budget = 2 if closed else 50
    end = Finished("stop")
    engine = Scripted([*in_chunks(first, rng), *(() if closed else in_chunks(ids_of(answer), rng)), end])
    if closed:
        engine.scripts = [engine.scripts[0][:-1], [*in_chunks(ids_of(answer), rng), end]]
    prompt = hs.render("?", model="gpt-oss")

    async def collect():
        plan = Plan(budget=budget, closes=(FINAL,))
        return [item async for item in steered(engine.generate, prompt, Sampling(max_tokens=99), plan, stops)]

    *items, last = asyncio.run(collect())
    content = texts(parsed(prompt, items)[1])[1]
    text = answer.removesuffix("<|return|>")
    ends = [(text.find(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text]
    cut = text[: min(ends)[0] + min(ends)[1]] if ends else text
    assert (content, last.stop) == (cut, min(ends)[2] if ends else None)
    assert last.usage["prompt_tokens"] == len(prompt.ids)


def test_stop_strings_of_text_and_of_ids_that_nobody_knows():
    prompt = hs.prompts.Prompt("<|im_start|>assistant\n", None, format_of("hermes"))
    engine = Scripted(["One, t", "wo.\n", "\nThree.", Finished("stop")])

    async def collect(engine, prompt, stops):
        return [item async for item in steered(engine.generate, prompt, Sampling(), stops=stops)]

    *items, end = asyncio.run(collect(engine, prompt, ["\n\n"]))
    assert ("".join(items), end.stop) == ("One, two.", "\n\n")
    unknown = Scripted([ids_of("<|channel|>final<|message|>"), [10**6], ids_of("x"), Finished("stop")])
    *items, end = asyncio.run(collect(unknown, hs.render("?", model="gpt-oss"), ["x"]))
    assert (items[-1], end.stop) == ([10**6], "x")


def test_no_stop_string_is_in_a_call_or_in_newlines_that_a_tag_drops():
    vocab = hs.vocab.o200k_harmony()
    row = hs.Format(name="own", think=("<think>", "</think>"), section=("<tool_call>", "</tool_call>"), wrapped=True)
    prompt = hs.prompts.Prompt("?", [0], row, vocab=vocab)
    call = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'

    async def collect(ids):
        async def generate(prompt, sampling):
            for tid in ids:
                yield tid
            yield Finished("stop")

        plan = Plan(budget=50, closes=("</think>",))
        return [item async for item in steered(generate, prompt, Sampling(), plan, ["\n\n", "name"])]

    for output, found in ((call, None), (f"One.\n{call}", None), ("One.\n\nTwo.", "\n\n")):
        ids = vocab.encode(f"<think>\nA.\n\nB.\n</think>\n\n{output}")
        *pieces, end = asyncio.run(collect(ids))
        passed = [tid for piece in pieces for tid in ([piece] if isinstance(piece, int) else piece)]
        assert (end.stop, passed == ids) == (found, found is None)


def test_what_comes_together_stays_together():
    ids = ids_of("<|channel|>final<|message|>One, two, three, four")

    async def generate(prompt, sampling):
        yield Arrived([ids[:3], ids[3:5], [ids[5]]])
        yield Arrived([[ids[6]], Finished("stop")])

    async def collect():
        prompt = hs.render("?", model="gpt-oss")
        return [item async for item in steered(generate, prompt, Sampling(), stops=["zz"])]

    together, last, end = asyncio.run(collect())
    assert (together, last) == (Arrived([ids[:3], ids[3:5], [ids[5]]]), [ids[6]])
    assert end.reason == "stop"


def test_usage_is_the_engine_s_though_its_ids_are_more():
    """llama-server counts a token that ends inside a character, and its ids are those of the bytes."""
    thought = ids_of("<|channel|>analysis<|message|>a b c d e f")
    answer = ids_of("Hi there!<|return|>")
    end = Finished("stop", chat_usage(9, len(answer) - 2))
    engine = Scripted([thought, 1.0], [answer, end])
    prompt, (*items, last) = play(engine, Plan(budget=3, closes=(FINAL,)))
    written = sum(map(len, items))
    assert last.usage == chat_usage(len(prompt.ids), written - 2)
    assert engine.samplings[1].max_tokens == engine.samplings[0].max_tokens - (written - len(answer))


def test_a_budget_that_is_not_used_up_changes_nothing():
    whole = ids_of("<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>")
    engine = Scripted([whole, Finished("stop")])
    _, items = play(engine, Plan(budget=50, closes=(FINAL,)))
    assert items[0] == whole
    assert len(engine.prompts) == 1


def test_a_call_that_must_come():
    call = "<|start|>assistant<|channel|>commentary to=functions.add <|constrain|>json<|message|>"
    engine = Scripted([ids_of("A sum.<|end|>"), 1.0], [ids_of('{"a": 1}<|call|>'), Finished("stop")])
    prompt, items = play(engine, Plan("<|channel|>analysis<|message|>", call))
    assert engine.prompts[0].text.endswith("<|start|>assistant<|channel|>analysis<|message|>")
    assert engine.prompts[1].text.endswith("A sum.<|end|>" + call)
    _, events = parsed(prompt, items)
    assert texts(events) == ("A sum.", "")
    assert [e.name for e in events if isinstance(e, hs.ToolCallStart)] == ["add"]


def test_the_form_holds_for_the_answer_alone():
    engine = Scripted([ids_of("<|channel|>analysis<|message|>Hm" + FINAL + "x"), 1.0], [ids_of("{}"), Finished("stop")])
    prompt, items = play(engine, Plan(form={"response_format": {"type": "json_object"}}))
    assert engine.samplings[0].extra == {}
    assert engine.samplings[1].extra == {"response_format": {"type": "json_object"}}
    assert texts(parsed(prompt, items)[1]) == ("Hm", "{}")


def test_text_is_steered_too():
    prompt = hs.prompts.Prompt("<|im_start|>assistant\n<think>\n", None, format_of("hermes"))
    engine = Scripted(["Thinking about it", " for ever and ever"], ["Yes.", Finished("stop")])
    _, items = play(engine, Plan(budget=4, closes=("\n</think>\n\n",)), prompt=prompt)
    parser = prompt.parser()
    events = [e for item in items[:-1] for e in parser.feed_text(item)] + list(parser.finish("stop"))
    assert texts(events) == ("Thinking about i", "Yes.")
    assert engine.prompts[1].text == prompt.text + "Thinking about i\n</think>\n\n"
    assert items[-1].usage == chat_usage(len(prompt.text) // 4, 7)  # four characters count as a token


def test_no_more_tokens_than_allowed():
    engine = Scripted([ids_of(THOUGHT)])
    _, items = play(engine, Plan(budget=3, closes=(FINAL,)), max_tokens=12)
    assert items[-1].reason == "length"
    assert len(engine.prompts) == 1


def test_an_engine_that_answers_ids_with_text_is_an_error():
    with pytest.raises(EngineError, match="answered ids with text"):
        play(Scripted(["text"]), Plan(first="<|channel|>analysis<|message|>"))


def tag_plan(name, prompt, engine=None, **more):
    asked = ApiRequest("chat", {}, "m", **{"tools": TOOLS["chat"], "choice": "required", **more})
    return plan_of(asked, format_of(name), hs.prompts.Prompt(prompt, None, format_of(name)), engine)


def test_the_plans_of_tag_formats():
    assert tag_plan("hermes", "<|im_start|>assistant\n") == Plan(first="<tool_call>")
    opened = tag_plan("hermes", "<|im_start|>assistant\n<think>\n", budget=9)
    assert opened == Plan("", "\n\n<tool_call>", 9, ("\n</think>",))
    assert tag_plan("glm", "").first == "<tool_call>"
    assert tag_plan("dsml", "write <｜DSML｜function_calls> here").first == "<｜DSML｜function_calls>"
    assert tag_plan("hermes", "", choice="auto", budget=5) == Plan(budget=5, closes=("\n</think>\n\n",))
    assert tag_plan("hermes", "", choice="auto") is None


def test_a_required_call_of_a_model_that_writes_no_opener():
    assert tag_plan("llama3", "").first == '{"name": "'
    assert tag_plan("llama3", "use <|python_tag|>").first == "<|python_tag|>"
    assert tag_plan("pythonic", "").first == "["
    assert tag_plan("olmo3", "").first == "<function_calls>"
    for name, said in (("llama3", 'add", "parameters": {"a": 1}}'), ("pythonic", "add(a=1)]")):
        plan = tag_plan(name, "")
        done = hs.parse(plan.first + said, name, tools=TOOLS["chat"])
        assert [(call.name, call.arguments) for call in done.tool_calls] == [("add", '{"a": 1}')]


def test_a_grammar_is_in_place_of_the_beginning_of_a_call():
    open_, closed = "<|im_start|>assistant\n<think>\n", "<|im_start|>assistant\n"
    for prompt, reasons in ((open_, True), (closed, False)):
        plan = tag_plan("hermes", prompt, engine=LlamaServer("http://e"), budget=9)
        assert (plan.first, plan.after_reasoning, plan.budget, plan.closes) == ("", "", 9, ("\n</think>",))
        start = "reasoning" if reasons else "content"
        made = hs.grammar("hermes", TOOLS["chat"], choice="required", start=start)
        assert plan.grammar(hs.prompts.Prompt(prompt, None, format_of("hermes"))) == {"grammar": made.gbnf()}
    plan = tag_plan("hermes", closed, engine=LlamaServer("http://e"), parallel=False)
    assert plan.how == "grammar"
    alone = plan.grammar(hs.prompts.Prompt(closed, None, format_of("hermes")))
    assert alone == {"grammar": hs.grammar("hermes", TOOLS["chat"], choice="required", parallel=False).gbnf()}


def test_an_engine_that_does_not_keep_its_grammar_goes_on_without_one():
    closed = "<|im_start|>assistant\n"
    plan = tag_plan("hermes", closed, engine=LlamaServer("http://e"), budget=1)
    thought = "<think>Wait, no."
    engine = Scripted([thought], [thought], ["It is so.", Finished("stop")])
    prompt, items = play(engine, plan, prompt=hs.prompts.Prompt(closed, None, format_of("hermes")))
    assert [sorted(sampling.extra) for sampling in engine.samplings] == [["grammar"], ["grammar"], []]
    assert texts(parsed(prompt, items)[1])[1].strip() == "It is so."


def test_arguments_that_a_grammar_cannot_keep_are_any_object():
    strict = [{"name": "f", "strict": True, "parameters": {"type": "object", "not": {"required": ["a"]}}}]
    plan = tag_plan("hermes", "", engine=LlamaServer("http://e"), tools=strict)
    made = hs.grammar("hermes", strict, choice="required", exact=False)
    assert "'not'" in made.wider("gbnf")[0]
    assert plan.grammar(hs.prompts.Prompt("", None, format_of("hermes"))) == {"grammar": made.gbnf()}


def test_an_answer_by_a_schema_and_tools_have_one_grammar():
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": ADD}}
    empty = hs.prompts.Prompt("", None, format_of("hermes"))
    for output, answer in ((form, ADD), ({"type": "json_object"}, {"type": "object"})):
        plan = tag_plan("hermes", "", engine=LlamaServer("http://e"), choice="auto", output=output)
        assert plan.form is None
        made = hs.grammar("hermes", TOOLS["chat"], answer=answer)
        assert plan.grammar(empty) == {"grammar": made.gbnf()}


def test_strict_tools_are_kept_to_their_schemas_where_no_call_must_come():
    strict = [{"type": "function", "function": {**TOOLS["chat"][0]["function"], "strict": True}}]
    plan = tag_plan("hermes", "", engine=LlamaServer("http://e"), choice="auto", tools=strict)
    empty = hs.prompts.Prompt("", None, format_of("hermes"))
    assert plan.grammar(empty) == {"grammar": hs.grammar("hermes", strict).gbnf()}
    assert tag_plan("hermes", "", engine=LlamaServer("http://e"), choice="none", tools=strict) is None
    assert tag_plan("hermes", "", engine=Completions("http://e"), choice="auto", tools=strict) is None


def test_strict_is_passed_over_where_an_engine_takes_no_grammar():
    empty = hs.prompts.Prompt("", None, format_of("hermes"))
    for choice, passed in (("auto", ["tools.strict"]), ("required", ["tools.strict"]), ("none", [])):
        asked = ApiRequest("chat", {}, "m", tools=TOOLS["chat"], choice=choice, strict="tools[0]")
        for _ in range(2):  # the rounds of an answer
            plan_of(asked, format_of("hermes"), empty, Completions("http://e"))
        assert asked.unsupported.passed == passed
    asked = ApiRequest("chat", {}, "m", tools=TOOLS["chat"], choice="auto", strict="tools[0]")
    asked.unsupported.rule = "refuse"
    with pytest.raises(Refused, match="takes no grammar"):
        plan_of(asked, format_of("hermes"), empty, Completions("http://e"))


def test_what_a_grammar_does_not_keep_of_a_strict_schema_is_passed_over_by_its_name():
    ids = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    find = {"name": "find", "strict": True, "parameters": {"type": "object", "properties": {"ids": ids}}}
    empty = hs.prompts.Prompt("", None, format_of("hermes"))
    for choice in ("auto", "required"):
        for api, more in (("chat", {"function": find}), ("responses", find)):
            tool = {"type": "function", **more}
            asked = ApiRequest(api, {}, "m", tools=[tool], choice=choice, strict="tools[0]")
            for _ in range(2):  # the rounds of an answer
                plan = plan_of(asked, format_of("hermes"), empty, LlamaServer("http://e"))
            assert plan.how == "grammar"
            passed = asked.unsupported.passed
            assert all("'uniqueItems'" in one and "tool 'find'" in one for one in passed)
            assert 1 <= len(passed) == len(set(passed)) <= 2  # each part of the grammar has its own words for it
    asked = ApiRequest("chat", {}, "m", tools=[find], strict="tools[0]")
    asked.unsupported.rule = "refuse"
    with pytest.raises(Refused, match="'uniqueItems' of tool 'find'") as refused:
        plan_of(asked, format_of("hermes"), empty, LlamaServer("http://e"))
    assert (refused.value.status, refused.value.param) == (400, "tools")


def test_strict_tools_and_a_form_of_gpt_oss_have_one_grammar():
    strict = [{"type": "function", "function": {**TOOLS["chat"][0]["function"], "strict": True}}]
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": ADD}}
    plan = tag_plan("gpt-oss", "", engine=LlamaServer("http://e"), choice="auto", output=form, tools=strict)
    made = hs.grammar("gpt-oss", strict, answer=ADD)
    assert (plan.how, plan.form) == ("grammar", None)
    assert plan.grammar(hs.prompts.Prompt("", None, format_of("gpt-oss"))) == {"grammar": made.gbnf()}
    plan = tag_plan("gpt-oss", "", engine=LlamaServer("http://e"), choice="auto", output=form)
    assert (plan.how, plan.form) == ("form", {"json_schema": ADD})


def test_an_engine_without_grammars_gets_the_beginning_of_a_call():
    for engine in (Completions("http://e"), Completions("http://e", server="text")):  # a prompt without a vocabulary
        assert tag_plan("hermes", "", engine=engine) == Plan(first="<tool_call>")
        assert tag_plan("hermes", "", engine=engine).how == "call_begun"


def test_what_a_format_or_an_engine_cannot_do_is_refused():
    with pytest.raises(Refused, match="response_format cannot be combined with tools"):
        tag_plan("hermes", "", choice="auto", output={"type": "json_object"})
    with pytest.raises(Refused, match="cannot constrain"):
        tag_plan("hermes", "", choice="auto", tools=[], output={"type": "json_object"})


def test_the_fields_of_a_grammar_by_engine():
    made, vocab = hs.grammar("harmony", TOOLS["chat"]), hs.vocab.o200k_harmony()
    tag = made.structural_tag(vocab)
    assert Completions("http://e").grammar_fields(made, vocab) == {"structured_outputs": {"structural_tag": tag}}
    sent = Completions("http://e", server="sglang").grammar_fields(made, vocab)
    assert sent == {"response_format": json.loads(tag)}
    assert Completions("http://e").grammar_fields(made, None) is None
    assert Completions("http://e", server="tensorrt_llm").grammar_fields(made, vocab) is None
    assert LlamaServer("http://e").grammar_fields(made, None) == {"grammar": made.gbnf()}
    fields = made.llama()
    assert fields == {"grammar": made.gbnf(), "preserved_tokens": sorted(fields["preserved_tokens"])}
    assert {"<|channel|>", "<|call|>", "<|message|>"} <= set(fields["preserved_tokens"])


def test_the_fields_of_a_form_by_engine():
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": ADD}}
    assert Completions("http://e").form_fields(form) == {"response_format": form}
    assert Completions("http://e", server="text").form_fields(form) is None
    assert LlamaServer("http://e").form_fields(form) == {"json_schema": ADD}
    assert LlamaServer("http://e").form_fields({"type": "json_object"}) == {"json_schema": {"type": "object"}}


# --- over HTTP ----------------------------------------------------------------------------------------------------


class Engines:
    """Scripts of one engine, one after the other."""

    def __init__(self, *texts):
        self.scripts = [script_of(*text) if isinstance(text, tuple) else script_of(text) for text in texts]


def test_a_budget_in_each_api(steering):
    asked = {
        "chat": {"thinking_token_budget": 3},
        "responses": {"thinking_token_budget": 3},
        "messages": {"thinking": {"type": "enabled", "budget_tokens": 3}},
    }
    for api, options in asked.items():
        made = steering((THOUGHT, "length"), "Six.<|return|>")
        answer = made.post(api, **options)
        whole = answer.json()
        assert "Six." in json.dumps(whole)
        assert "three four" not in json.dumps(whole)
        assert answer.headers.get("x-steered") is None
        assert spelled(made.sent()["prompt"]).endswith("One two three" + FINAL)
        key = "completion_tokens" if api == "chat" else "output_tokens"
        assert whole["usage"][key] == 6 + 6 + 3


CALL = "<|channel|>analysis<|message|>A sum.<|end|><|start|>assistant<|channel|>commentary to=functions."


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
@pytest.mark.parametrize("named", [False, True])
def test_a_required_call_in_each_api(steering, api, named):
    made = steering(CALL + 'add <|constrain|>json<|message|>{"a": 1}<|call|>')
    both = [*TOOLS[api], json.loads(json.dumps(TOOLS[api][0]).replace("add", "other"))]
    choices = {
        "chat": {"type": "function", "function": {"name": "add"}},
        "responses": {"type": "function", "name": "add"},
        "messages": {"type": "tool", "name": "add"},
    }
    required = {"type": "any"} if api == "messages" else "required"
    answer = made.post(api, tools=both, tool_choice=choices[api] if named else required)
    whole = answer.json()
    assert answer.headers["x-steered"] == "grammar"
    assert '"add"' in json.dumps(whole)
    tag = made.sent()["structured_outputs"]["structural_tag"]
    assert json.loads(tag)["type"] == "structural_tag"
    assert 'harmonystream_steered_total{how="grammar",model=' in made.http.get("/metrics").text
    assert ("functions.other" in tag, "functions.add" in tag) == (not named, True)
    prompt = spelled(made.sent()["prompt"])
    assert prompt.endswith("<|start|>assistant")
    assert ("type other" in prompt) is not named
    if api == "chat":
        assert whole["choices"][0]["finish_reason"] == ("stop" if named else "tool_calls")


def test_reasoning_that_is_cut_goes_on_under_the_same_grammar(steering):
    rest = '<|channel|>commentary to=functions.add<|message|>{"a": 1}<|call|>'
    made = steering((THOUGHT, "length"), rest)
    whole = made.post("chat", tools=TOOLS["chat"], tool_choice="required", thinking_token_budget=3).json()
    assert whole["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'
    assert spelled(made.sent(1)["prompt"]).endswith("One two three<|end|><|start|>assistant")
    assert made.sent(0)["structured_outputs"] == made.sent(1)["structured_outputs"]


def test_a_response_format_is_passed_on_for_the_answer(steering):
    made = steering("<|channel|>analysis<|message|>Hm" + FINAL, '{"a": 1}<|return|>')
    schema = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": ADD}}
    whole = made.post("chat", response_format=schema, tools=TOOLS["chat"]).json()
    assert whole["choices"][0]["message"]["content"] == '{"a": 1}'
    assert "response_format" not in made.sent(0)
    assert made.sent(1)["response_format"] == {"type": "json_schema", "json_schema": {"name": "n", "schema": ADD}}
    flat = {"format": {"type": "json_schema", "name": "n", "schema": ADD}}
    made.post("responses", text=flat)
    assert made.sent()["response_format"]["json_schema"] == {"name": "n", "schema": ADD}
    made.post("messages", output_config={"format": {"type": "json_schema", "schema": ADD}})
    assert made.sent()["response_format"]["json_schema"]["schema"] == ADD


@pytest.fixture
def steering():
    """A gateway whose engine plays these, one after the other."""
    from contextlib import ExitStack

    from upstream import Upstream

    class Played(Upstream):
        async def answer(self, request):
            at = min(len(self.requests), len(self.scripts) - 1)
            self.script = self.scripts[at]
            return await super().answer(request)

    with ExitStack() as stack:

        def make(*texts):
            engine = Played([])
            engine.scripts = Engines(*texts).scripts
            return stack.enter_context(gateway(engine))

        yield make
