"""A gateway in front of a model whose format is a row of your own. Here a recording takes the engine's place.
uvicorn own_format_gateway:app    (after: pip install 'harmonystream[gateway]')"""

import harmonystream as hs
from harmonystream.gateway import Model
from harmonystream.gateway import app as gateway

ACME = hs.Format(
    name="acme",
    think=("<think>", "</think>"),
    section=("<acme:calls>", "</acme:calls>"),
    call=('<run tool="', '">', "</run>"),
    pair=('<set name="', '">', "", "</set>"),
    stops=("<|done|>",),
    turns=("<|turn|>",),
)  # or the path of a .toml or .json file with these fields
TEMPLATE = """{%- if tools %}{{- '<|turn|>tools\n' + tools | tojson + '<|done|>' }}{%- endif %}
{%- for m in messages %}<|turn|>{{ m.role }}
{{ m.content }}<|done|>{%- endfor %}{%- if add_generation_prompt %}<|turn|>assistant
<think>{%- endif %}"""
OUTPUT = """Look.</think><acme:calls>
<run tool="get_forecast">
<set name="city">Bergen</set>
</run>
</acme:calls><|done|>"""

engine = hs.engines.Recorded([{"text": OUTPUT}])  # or hs.engines.Completions("http://localhost:8001")
app = gateway([Model("acme-7b", engine, format=ACME, template=TEMPLATE)])
