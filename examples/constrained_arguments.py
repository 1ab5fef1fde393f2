"""A decode loop that constrains nothing but arguments. Needs llguidance. The "model" writes a header and
then noise; the arguments are valid anyway. python examples/constrained_arguments.py"""

import random

import harmonystream as hs

VOCAB, HEADER = hs.vocab.o200k_harmony(), "<|channel|>commentary to=functions.set_lamp <|constrain|>json<|message|>"
LAMP = {"brightness": {"type": "integer"}, "colour": {"enum": ["red", "warm white"]}}
SCHEMA = {"type": "object", "properties": LAMP, "required": ["colour"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "set_lamp", "strict": True, "parameters": SCHEMA}}]
NOISE = {*range(256), *VOCAB.control.values()}  # the bytes, and the tokens that end something


def model(generated, allowed):  # a real one has logits: what is not allowed gets -inf
    script = VOCAB.encode(HEADER, control=True)
    if len(generated) < len(script):
        return script[len(generated)]
    may = [tid for tid in range(len(VOCAB)) if allowed[tid // 8] >> tid % 8 & 1]
    return random.choice([tid for tid in may if tid in NOISE] or may)


def answer():
    prompt = hs.render("Light, please.", tools=TOOLS, model="gpt-oss")
    parser, generated, matcher, place = prompt.parser(), [], None, None
    while not generated or generated[-1] not in parser.stop_ids:
        if parser.grammar_at() is not place:  # the same object while nothing changes
            place, matcher = parser.grammar_at(), None
            if place.region is hs.Region.ARGUMENTS:
                here = prompt.continue_with(generated)
                matcher = hs.grammar("harmony", TOOLS, choice=place.tool, prompt=here).matcher(VOCAB)
        generated.append(model(generated, matcher and matcher.allowed()))
        parser.feed(generated[-1])
        if matcher:
            matcher.take(generated[-1])
    return hs.parse(generated, "harmony", vocab=VOCAB, tools=TOOLS)


if __name__ == "__main__":
    print(answer().tool_calls[0].arguments)
