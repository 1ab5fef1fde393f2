"""The classes of difference, the one that matters most first, and why there is a difference."""

CLASSES = {
    "it raises": "the parser raises an error, or does not end within half a second.",
    "a call is lost": "a complete call is not found. It is shown as text, or is nowhere.",
    "a cut call is lost": "the output ends inside of a call. Our events show that it has begun, and that it is cut.",
    "a call is added": "what we take for text, or for part of a value, is a call there.",
    "another name": "the name of a call has more or less in it.",
    "a cut call is closed": "the output ends inside of a call, and the parser closes its JSON, so that it looks whole.",
    "no arguments are an empty text": "a call without arguments has an empty text, which is not JSON; ours has `{}`.",
    "arguments are no JSON": "what a client gets as arguments cannot be parsed: it lacks a piece, or has markup in it.",
    "arguments are not an object": "the arguments are valid JSON, but a string or an array.",
    "an argument is lost": "a key with its value is missing.",
    "an argument is added": "a key is there that was not written, or was part of a value.",
    "another type": "a value is a string and should not be one, or should be one and is not.",
    "another string": "a string is cut, is longer, or is unescaped.",
    "whitespace in a string": "a string lacks its own spaces or newlines, as at the end of a file.",
    "another value": "a number or an object is not the same.",
    "reasoning and content are confused": "all of the text is there, but in the wrong field.",
    "text is lost": "a piece of reasoning or content is missing.",
    "markup or other text is shown": "the text has tags in it, or arguments of a call, that no person should see.",
}
OWN = (
    "The same parser may read a stream in another way than the same output as a whole. Ours is one machine for "
    "both. The two answers of a rival differ by one of the classes above:"
)
OURS_DIFFERS = """\
These are outputs whose meaning is known, and that we read otherwise:

- A marker in prose that may not be shown at all, such as a closer with a bar, is dropped as a stray marker
  ([What is repaired](formats.md#what-is-repaired-what-is-refused)). With ids, a mention in ordinary
  tokens is text in the formats whose markers are control tokens.
- In formats that begin a call with its name alone (`glm`, `poolside_v1`, `iquest_q1`, `k2_horizon`), a call of an
  unknown tool without arguments is text, because `<tool_call>word</tool_call>` may be prose.
- An opener that one word and the end of the output follow may be a call that was cut. It is text (in `glm` with the
  note `unfinished-header`). With ids, where the opener is a control token, the opener is dropped and the word is text.
- In `gpt_oss` a marker that an argument mentions is a marker, because text cannot show that it is a mention. With ids,
  a mention in ordinary tokens is text.
- An answer that is nothing but an object or a Python call, as in `llama3`, `xlam` and `pythonic`, is a call only if its
  name is declared. A call of an unknown tool is text, because the answer may be just that object.

Where the meaning is open, ours is right by no measure of this page. Looking at the differences showed faults of ours,
which are repaired:

- A doubled end of a name (`<｜tool▁sep｜><｜tool▁sep｜>{…}`, `[ARGS][ARGS]{…}`) was part of the arguments. It is
  dropped.
- In the formats that begin a call with its name alone, an opener in prose that one word and a call followed made a call
  of that word. It is text.
- In the same formats a value that mentions `<arg_key>` ended there. It goes on, unless a whole key and a value
  follow."""
