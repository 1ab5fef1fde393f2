"""The families that are compared, by name. A name is our row's, or the row's and a version."""

from __future__ import annotations

from .forms import Form
from .writers import M3, elements, function_gemma, gemma, in_elements, python_arguments, python_value

OBJECT = '{"name": "⟨name⟩", "arguments": ⟨arguments⟩}'
THINKS_IN_LINES = {"think": ("", "\n</think>\n\n"), "prompts": ("<think>\n", "<think>\n\n</think>\n\n")}
DEEPSEEK_PROMPTS = ("<｜Assistant｜><think>", "<｜Assistant｜></think>")
XML = "<function=⟨name⟩>\n⟨arguments⟩</function>"
GLM_LINES = "<arg_key>⟨key⟩</arg_key>\n<arg_value>⟨value⟩</arg_value>\n"
GLM_FLAT = "<arg_key>⟨key⟩</arg_key><arg_value>⟨value⟩</arg_value>"
INVOKE = '<invoke name="⟨name⟩">\n⟨arguments⟩</invoke>\n'
PARAMETER = '<parameter name="⟨key⟩">⟨value⟩</parameter>\n'
COHERE_CALL = '{"tool_call_id": "⟨number⟩", "tool_name": "⟨name⟩", "parameters": ⟨arguments⟩}'
COHERE = {
    "section": ("<|START_ACTION|>[\n    ", ",\n    ", "\n]<|END_ACTION|>"),
    "before": False,
    "after": False,
}
DSML = '<｜DSML｜invoke name="⟨name⟩">\n⟨arguments⟩</｜DSML｜invoke>\n'
DSML_PAIR = '<｜DSML｜parameter name="⟨key⟩" string="⟨text⟩">⟨value⟩</｜DSML｜parameter>\n'

FAMILIES = {
    "hermes": Form(
        *("hermes", "hermes qwen3", "qwen25 qwen3", "<tool_call>\n" + OBJECT + "\n</tool_call>"),
        section=("\n", "\n", ""),
        **THINKS_IN_LINES,
    ),
    "qwen3_coder": Form(
        *("qwen3_coder", "qwen3_coder qwen3", "qwen3_coder qwen3", "<tool_call>\n" + XML + "\n</tool_call>"),
        section=("\n", "\n", ""),
        pair="<parameter=⟨key⟩>\n⟨value⟩\n</parameter>\n",
        **THINKS_IN_LINES,
    ),
    "mimo": Form(
        *("mimo", "mimo mimo", "mimo mimo", "<tool_call>\n" + XML + "\n</tool_call>"),
        section=("\n", "\n", ""),
        pair="<parameter=⟨key⟩>⟨value⟩</parameter>\n",
    ),
    "deepseek": Form(
        *("deepseek", "deepseek_v31 deepseek_v3", "deepseekv31 deepseek-v3"),
        "<｜tool▁call▁begin｜>⟨name⟩<｜tool▁sep｜>⟨arguments⟩<｜tool▁call▁end｜>",
        section=("<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"),
        prompts=DEEPSEEK_PROMPTS,
    ),
    "deepseek_v3": Form(
        *("deepseek", "deepseek_v3 deepseek_r1", "deepseekv3 deepseek-r1"),
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>⟨name⟩\n```json\n⟨arguments⟩\n```<｜tool▁call▁end｜>",
        section=("<｜tool▁calls▁begin｜>", "\n", "<｜tool▁calls▁end｜>"),
        think=("", "\n</think>\n\n"),
        prompts=("<｜Assistant｜><think>\n", "<｜Assistant｜><think>\n\n</think>\n\n"),
        always=True,
    ),
    "dsml": Form(
        *("dsml", "deepseek_v32 deepseek_v3", "deepseekv32 deepseek-v3", DSML),
        section=("\n\n<｜DSML｜function_calls>\n", "", "</｜DSML｜function_calls>"),
        pair=DSML_PAIR,
        prompts=DEEPSEEK_PROMPTS,
    ),
    "dsml_v4": Form(
        *("dsml", "deepseek_v4 deepseek_v4", "deepseekv4 deepseek-v4", DSML),
        section=("\n\n<｜DSML｜tool_calls>\n", "", "</｜DSML｜tool_calls>"),
        pair=DSML_PAIR,
        prompts=DEEPSEEK_PROMPTS,
    ),
    "kimi_k2": Form(
        *("kimi_k2", "kimi_k2 kimi_k2", "kimi_k2 kimi_k2"),
        "<|tool_call_begin|>functions.⟨name⟩:⟨number⟩<|tool_call_argument_begin|>⟨arguments⟩<|tool_call_end|>",
        section=("<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>"),
    ),
    "glm45": Form(
        *("glm", "glm45 glm45", "glm45 glm45", "<tool_call>⟨name⟩\n⟨arguments⟩</tool_call>"),
        section=("\n", "\n", ""),
        pair=GLM_LINES,
        think=("<think>", "</think>\n"),
        prompts=("<|assistant|>\n", "<|assistant|>\n<think></think>\n"),
    ),
    "glm47": Form(
        *("glm", "glm47 glm47", "glm47 glm45", "<tool_call>⟨name⟩⟨arguments⟩</tool_call>"),
        pair=GLM_FLAT,
        prompts=("<|assistant|><think>", "<|assistant|></think>"),
    ),
}
FAMILIES |= {
    "kimi_k3": Form(
        *("kimi_k3", "kimi_k3 kimi_k3", "kimi_k3 kimi_k3"),
        '<|open|>call tool="⟨name⟩" index="⟨number⟩"<|sep|>⟨arguments⟩<|close|>call<|sep|>',
        section=("<|open|>tools<|sep|>", "", "<|close|>tools<|sep|>"),
        pair='<|open|>argument key="⟨key⟩" type="⟨kind⟩"<|sep|>⟨value⟩<|close|>argument<|sep|>',
        think=("", "<|close|>think<|sep|>"),
        prompts=("<|open|>think<|sep|>", "<|open|>think<|sep|><|close|>think<|sep|>"),
        first=1,
        after=False,
    ),
    "seed_oss": Form(
        *("seed_oss", "seed_oss seed_oss", "", "<seed:tool_call>\n" + XML + "\n</seed:tool_call>"),
        section=("\n", "\n", ""),
        pair="<parameter=⟨key⟩>⟨value⟩</parameter>\n",
        write=python_value,
        think=("<seed:think>", "</seed:think>"),
        prompts=("<seed:bos>assistant\n", "<seed:bos>assistant\n<seed:think></seed:think>"),
    ),
    "minimax_m2": Form(
        *("minimax_m2", "minimax_m2 minimax_m2", "minimax-m2 minimax", INVOKE),
        section=("\n<minimax:tool_call>\n", "", "</minimax:tool_call>"),
        pair=PARAMETER,
        always=True,
        **THINKS_IN_LINES,
    ),
    "minimax_m3": Form(
        *("minimax_m3", "minimax_m3 minimax_m3", "minimax-m3 minimax-m3"),
        f'{M3}<invoke name="⟨name⟩">⟨arguments⟩{M3}</invoke>\n',
        section=(f"\n{M3}<tool_call>\n", "", f"{M3}</tool_call>"),
        write=elements,
        says=in_elements,
        think=("<mm:think>", "</mm:think>"),
        prompts=("]~b]ai\n", "]~b]ai\n"),
    ),
    "granite4": Form(
        *("granite4", "granite4 -", "", "<tool_call>\n" + OBJECT + "\n</tool_call>"),
        section=("", "\n", ""),
    ),
    "longcat": Form("longcat", "longcat -", "", "<longcat_tool_call>\n" + OBJECT + "\n</longcat_tool_call>"),
    "ernie45": Form(
        *("ernie45", "ernie45 ernie45", "", "<tool_call>\n" + OBJECT + "\n</tool_call>"),
        section=("\n", "\n", "\n"),
        always=True,
        **THINKS_IN_LINES,
    ),
    "jamba": Form("jamba", "jamba -", "", OBJECT, section=("<tool_calls>[\n", ",\n", "\n]</tool_calls>")),
    "hunyuan_a13b": Form(
        *("hunyuan_a13b", "hunyuan_a13b -", "", OBJECT),
        section=("<tool_calls>[", ", ", "]</tool_calls>"),
    ),
    "internlm": Form(
        *("internlm", "internlm -", ""),
        '<|action_start|><|plugin|>\n{"name": "⟨name⟩", "parameters": ⟨arguments⟩}<|action_end|>',
        section=("", "\n", ""),
    ),
    "interns1": Form(
        *("internlm", "", "interns1 interns1"),
        '<|action_start|> <|plugin|>\n{"name": "⟨name⟩", "parameters": ⟨arguments⟩}<|action_end|>',
        section=("", "\n", ""),
    ),
    "hy_v3": Form(
        *("hy_v3", "hy_v3 hy_v3", "hunyuan hunyuan", "<tool_call>⟨name⟩<tool_sep>\n⟨arguments⟩</tool_call>\n"),
        section=("<tool_calls>\n", "", "</tool_calls>"),
        pair=GLM_LINES,
    ),
    "poolside_v1": Form(
        *("poolside_v1", "poolside_v1 poolside_v1", "poolside_v1 poolside_v1"),
        "<tool_call>⟨name⟩\n⟨arguments⟩</tool_call>",
        section=("\n", "\n", ""),
        pair=GLM_LINES,
        prompts=("<assistant>\n<think>", "<assistant>\n</think>"),
    ),
    "iquest_q1": Form(
        *("iquest_q1", "", "iquest_q1 iquest_q1", "<iquest_tool_call>⟨name⟩⟨arguments⟩</iquest_tool_call>"),
        pair=GLM_FLAT,
    ),
    "k2_horizon": Form(
        *("k2_horizon", "k2_horizon k2_horizon", "k2_horizon k2_horizon"),
        "<ifm|tool_call>⟨name⟩\n⟨arguments⟩</ifm|tool_call>\n",
        section=("<ifm|tool_calls>\n", "", "</ifm|tool_calls>"),
        pair="<ifm|arg_key>⟨key⟩</ifm|arg_key>\n<ifm|arg_value>⟨value⟩</ifm|arg_value>\n",
        think=("", "</ifm|think>"),
        prompts=("<ifm|think>", "<ifm|think></ifm|think>"),
        always=True,
    ),
    "dots": Form(
        *("dots", "dots -", "dots dots", INVOKE),
        section=("<dots_function_call>\n", "", "</dots_function_call>"),
        pair=PARAMETER,
    ),
    "minicpm5": Form(
        *("minicpm5", "minicpm5 -", "minicpm5 -", '<function name="⟨name⟩">⟨arguments⟩</function>'),
        section=("", "\n", ""),
        pair='<param name="⟨key⟩">⟨value⟩</param>',
    ),
    "gigachat35": Form(
        *("gigachat35", "", "gigachat35 gigachat35", DSML.replace("DSML", "GCML")),
        section=("\n\n<｜GCML｜tool_calls>\n", "", "</｜GCML｜tool_calls>"),
        pair=DSML_PAIR.replace("DSML", "GCML"),
        always=True,
    ),
    "gigachat3": Form(
        *("gigachat3", "gigachat3 -", "gigachat3 -", "function call<|role_sep|>\n" + OBJECT),
        section=("<|message_sep|>\n\n", "", ""),
        after=False,
        most=1,
    ),
    "step3": Form(
        *("step3", "step3 step3", "step3 step3"),
        '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="⟨name⟩">'
        "⟨arguments⟩</steptml:invoke><｜tool_call_end｜>",
        section=("<｜tool_calls_begin｜>\n", "\n", "\n<｜tool_calls_end｜>"),
        pair='<steptml:parameter name="⟨key⟩">⟨value⟩</steptml:parameter>',
        think=("", "\n</think>\n"),
        prompts=("<think>\n", "<think>\n</think>\n"),
        always=True,
    ),
    "mistral": Form(
        *("mistral", "mistral mistral", "mistral mistral", "[TOOL_CALLS]⟨name⟩[ARGS]⟨arguments⟩"),
        think=("[THINK]", "[/THINK]"),
        prompts=("[/INST]", "[/INST]"),
        after=False,
    ),
    "llama3": Form(
        *("llama3", "llama3_json -", "llama3 -", '{"name": "⟨name⟩", "parameters": ⟨arguments⟩}'),
        section=("", "; ", ""),
        before=False,
        after=False,
    ),
    "xlam": Form("xlam", "xlam -", "", OBJECT, section=("[", ", ", "]"), before=False, after=False),
    "phi4_mini": Form(
        "phi4_mini", "phi4_mini_json -", "", OBJECT, section=("functools[", ", ", "]"), before=False, after=False
    ),
    "granite3": Form(
        *("granite3", "granite -", "", OBJECT),
        section=("<|tool_call|>[", ", ", "]"),
        after=False,
    ),
    "granite_20b": Form(
        *("granite_20b", "granite-20b-fc -", "", "<function_call> " + OBJECT), section=("", "\n", ""), after=False
    ),
    "apertus": Form(
        *("apertus", "apertus -", "apertus2509 apertus2509", '{"⟨name⟩": ⟨arguments⟩}'),
        section=("<|tools_prefix|>[", ", ", "]<|tools_suffix|>"),
    ),
    "pythonic": Form(
        *("pythonic", "pythonic -", "pythonic -", "⟨name⟩(⟨arguments⟩)"),
        section=("[", ", ", "]"),
        write=python_arguments,
        before=False,
        after=False,
    ),
    "olmo3": Form(
        *("olmo3", "olmo3 olmo3", "", "⟨name⟩(⟨arguments⟩)"),
        section=("<function_calls>", "\n", "</function_calls>"),
        write=python_arguments,
        before=False,
        after=False,
        always=True,
    ),
    "lfm2": Form(
        *("lfm2", "lfm2 -", "lfm2 -", "⟨name⟩(⟨arguments⟩)"),
        section=("<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
        write=python_arguments,
    ),
    "gemma4": Form(
        *("gemma4", "gemma4 gemma4", "gemma4 gemma4", "<|tool_call>call:⟨name⟩⟨arguments⟩<tool_call|>"),
        write=gemma,
        think=("<|channel>thought\n", "\n<channel|>"),
        prompts=("<|turn>model\n", "<|turn>model\n"),
    ),
    "cohere": Form(
        *("cohere", "cohere_command3 cohere_command3", "", COHERE_CALL),
        content=("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        think=("<|START_THINKING|>", "<|END_THINKING|>"),
        prompts=("<|CHATBOT_TOKEN|>", "<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>"),
        **COHERE,
    ),
    "cohere4": Form(
        *("cohere", "cohere_command4 cohere_command4", "cohere_command4 cohere_command4", COHERE_CALL),
        content=("<|START_TEXT|>", "<|END_TEXT|>"),
        think=("", "<|END_THINKING|>"),
        prompts=("<|CHATBOT_TOKEN|><|START_THINKING|>", "<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>"),
        **COHERE,
    ),
    "gpt_oss": Form(
        *("harmony", "openai openai_gptoss", "gpt-oss gpt-oss"),
        "<|channel|>commentary to=functions.⟨name⟩ <|constrain|>json<|message|>⟨arguments⟩<|call|>",
        think=("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
        content=("<|channel|>final<|message|>", "<|return|>"),
        prompts=("<|start|>assistant", "<|start|>assistant"),
        before=False,
        after=False,
        most=1,
    ),
    "functiongemma": Form(
        *("functiongemma", "functiongemma -", ""),
        "<start_function_call>call:⟨name⟩⟨arguments⟩<end_function_call>",
        write=function_gemma,
    ),
}
