"""Models leave the quotes inside of a command as they are. Python calls give the command as the model wrote it."""

from __future__ import annotations

import json
import random

import pytest

import harmonystream as hs

# Without backslashes, which are Python's escapes in a string.
COMMANDS = (
    "grep -r 'a, b' src",
    'echo "it\'s done"',
    "find . -name '*.py' -exec wc -l {} +",
    "python -c 'print(\"x\", (1, [2]))'",
    "awk '{print $1, $2}' f.txt",
    "sed -i 's/a(b)/c[d]/g' x",
    "git commit -m 'fix: a, \"b\", (c)'",
    "echo 'a', 'b'",
    "jq '.a[0], .b' f.json",
    "for i in $(seq 1 3); do echo '$i'; done",
    "curl -d '{\"a\": [1, 2]}' http://x/y?z=1",
    'echo "$(date), $(whoami)"',
    "psql -c \"select 'x', y from t where a in ('b', 'c')\"",
    "docker run -e A='b c' img sh -c 'echo hi'",
    "test -f 'x y' && rm -- 'x y'",
    "printf '%s' 'a' \"b\"",
    "ssh h 'sudo systemctl restart \"svc\"'",
)
CODE = (
    "def f(x):\n    return ['a', x]\n\nprint(f('b'), \"c\")\n",
    "d = {'a': 'b', \"c\": ['d']}\nprint(d['a'], d[\"c\"])",
    'class A:\n    """Says "hi", (once)."""\n    x = (1, [2], {\'y\': 3})\n',
    "import re\nre.sub('[(]', \"[']\", s), g()\n# it's all",
)
JOINS = (" && ", " | ", "; ", "\n", " || ")
BASH = {
    "name": "bash",
    "parameters": {"properties": {"command": {"type": "string"}, "timeout": {}, "cwd": {}, "env": {}}},
}
FORMS = (
    ("bash(command={})", {}),
    ("bash(command={}, timeout=30)", {"timeout": 30}),
    ("bash(timeout=30, command={})", {"timeout": 30}),
    ("bash(command={}, cwd='/tmp', env=['a', \"b\"])", {"cwd": "/tmp", "env": ["a", "b"]}),
    ("bash(env={{'A': 'b'}}, command={}, cwd=\"/tmp\")", {"env": {"A": "b"}, "cwd": "/tmp"}),
)


def commands(dice: random.Random) -> str:
    if dice.random() < 0.25:
        return dice.choice(CODE)
    parts = dice.choices(COMMANDS, k=dice.randrange(1, 4))
    return "".join(part + dice.choice(JOINS) for part in parts[:-1]) + parts[-1]


@pytest.mark.parametrize("name", ["pythonic", "lfm2", "olmo3"])
@pytest.mark.parametrize("tools", [None, ["bash"], [BASH]], ids=["unknown", "named", "typed"])
def test_a_command_is_whole(name, tools):
    dice = random.Random(20)
    around = {"pythonic": "[{}]", "lfm2": "<|tool_call_start|>[{}]<|tool_call_end|>"}
    between = "\n" if name == "olmo3" else ", "
    lost = []
    for _ in range(300):
        said, want = [], []
        for _ in range(dice.randrange(1, 3)):
            command, quote = commands(dice), dice.choice(("'", '"'))
            form, more = dice.choice(FORMS)
            said.append(form.format(quote + command + quote))
            want.append({"command": command, **more})
        text = around.get(name, "<function_calls>{}</function_calls>").replace("{}", between.join(said))
        calls = hs.parse(text, name, tools=tools).tool_calls
        if [(call.complete, json.loads(call.arguments)) for call in calls] != [(True, one) for one in want]:
            lost.append((text, calls))
    assert lost == []
