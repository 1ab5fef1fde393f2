"""`format_for`: the names of models that people use, and names that must not be guessed."""

from __future__ import annotations

import re

import pytest

import harmonystream as hs
from harmonystream.formats.models import models_of

KNOWN = {
    "harmony": """
        openai/gpt-oss-120b  gpt-oss:20b  openai.gpt-oss-120b-1:0  unsloth/gpt-oss-20b-GGUF
        openai/gpt-oss-safeguard-20b
    """,
    "hermes": """
        Qwen/Qwen3-8B  Qwen/Qwen3-30B-A3B-Thinking-2507  Qwen/Qwen3-235B-A22B-Instruct-2507-FP8  qwen3:30b-a3b
        qwen-3-32b  Qwen/Qwen3-Next-80B-A3B-Instruct  Qwen/Qwen3-VL-8B-Instruct  qwen3-vl:8b
        bartowski/Qwen_Qwen3-14B-GGUF  hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M  mlx-community/Qwen3-8B-4bit
        RedHatAI/Qwen3-8B-quantized.w4a16  Qwen/Qwen2.5-7B-Instruct  qwen2p5-72b-instruct  qwen2.5vl:7b
        Qwen/QwQ-32B  qwq  NousResearch/Hermes-3-Llama-3.1-8B
        NousResearch/Hermes-2-Pro-Mistral-7B  NousResearch/Hermes-4-14B  hermes3:8b  NousResearch/Hermes-4.3-36B
        NousResearch/DeepHermes-3-Llama-3-8B-Preview  Nous-Hermes-2-Mixtral-8x7B-DPO
        Huihui-Qwen3-8B-abliterated  HuggingFaceTB/SmolLM3-3B  arcee-ai/Trinity-Mini
    """,
    "qwen3_coder": """
        Qwen/Qwen3-Coder-30B-A3B-Instruct  Qwen3-Coder-30B-A3B-Instruct  qwen3-coder:30b  qwen/qwen3-coder:free
        qwen-3-coder-480b  Qwen/Qwen3-Coder-Next  accounts/fireworks/models/qwen3-coder-480b-a35b-instruct
        Qwen/Qwen3.5-27B  qwen3.6:35b  nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16  nemotron-3-super
        stepfun-ai/Step-3.5-Flash  StepFun3.5-Flash  Nanbeige/Nanbeige4.1-3B
    """,
    "mimo": """
        XiaomiMiMo/MiMo-V2-Flash  XiaomiMiMo/MiMo-7B-RL
    """,
    "deepseek": """
        deepseek-ai/DeepSeek-V3  deepseek-ai/DeepSeek-V3-0324  deepseek-ai/DeepSeek-V3.1
        deepseek-ai/DeepSeek-V3.1-Terminus  deepseek-ai/DeepSeek-V3.2-Exp  deepseek-ai/DeepSeek-R1
        deepseek-ai/DeepSeek-R1-0528  deepseek-r1:671b  deepseek-v3.1:671b  deepseek/deepseek-chat-v3-0324:free
        deepseek/deepseek-chat-v3.1  accounts/fireworks/models/deepseek-v3p1
        deepseek-ai/DeepSeek-R1-0528-Qwen3-8B  unsloth/DeepSeek-V3.1-GGUF
        cognitivecomputations/DeepSeek-V3-0324-AWQ  tngtech/DeepSeek-TNG-R1T2-Chimera  DeepSeek-R1T-Chimera
        llama-cpp-deepseek-r1  R1T2-Chimera
    """,
    "dsml": """
        deepseek-ai/DeepSeek-V3.2  deepseek-ai/DeepSeek-V3.2-Speciale  deepseek-v3.2:671b
        deepseek-ai/DeepSeek-V4  deepseek-ai/DeepSeek-V4-Flash  deepseek-ai/DeepSeek-V4.1
    """,
    "kimi_k2": """
        moonshotai/Kimi-K2-Instruct-0905  moonshotai/Kimi-K2-Thinking  moonshotai/Kimi-K2.5  kimi-k2:1t-cloud
        kimi_k2  moonshotai/Kimi-Linear-48B-A3B-Instruct
    """,
    "k2_horizon": """
        IFM/K2-Horizon-0.9B  IFM/K2-Horizon-MoVA-36B-A4B  IFM/K2-Horizon-375B-A23B
    """,
    "kimi_k3": """
        moonshotai/Kimi-K3  kimi-k3:cloud  unsloth/Kimi-K3-GGUF
    """,
    "glm": """
        zai-org/GLM-4.5-Air  zai-org/GLM-4.5-Air-FP8  zai-org/GLM-4.5V  z-ai/glm-4.6  zai-org/GLM-4.7
        zai-org/GLM-4.7-Flash  GLM-5  zai-org/GLM-5.1-FP8  glm-4p5  inclusionAI/Ling-3.0
        iFlytekOpenSource/Spark-X2.5
    """,
    "seed_oss": """
        ByteDance-Seed/Seed-OSS-36B-Instruct  bytedance-seed_seed-oss-36b-instruct-gguf
    """,
    "minimax_m3": "MiniMaxAI/MiniMax-M3  minimax-m3:cloud  unsloth/MiniMax-M3-GGUF",
    "minimax_m2": """
        MiniMaxAI/MiniMax-M2  MiniMaxAI/MiniMax-M2.1  minimax-m2:cloud
    """,
    "minimax_m1": "MiniMaxAI/MiniMax-M1-80k",
    "granite4": """
        ibm-granite/granite-4.0-h-small  granite4:3b
    """,
    "exaone4": """
        LGAI-EXAONE/EXAONE-4.0-32B  LGAI-EXAONE/EXAONE-4.0.1-32B  LGAI-EXAONE/K-EXAONE-236B-A23B
    """,
    "ling2": """
        inclusionAI/Ling-mini-2.0  inclusionAI/Ling-flash-2.0  inclusionAI/Ling-1T  inclusionAI/Ring-1T
    """,
    "reka": """
        RekaAI/reka-flash-3  RekaAI/reka-edge-2603
    """,
    "ernie45": """
        baidu/ERNIE-4.5-21B-A3B-Thinking  baidu/ERNIE-4.5-VL-28B-A3B-PT
    """,
    "longcat": """
        meituan-longcat/LongCat-Flash-Chat  meituan-longcat/LongCat-Flash-Thinking-2601
    """,
    "jamba": """
        ai21labs/AI21-Jamba-Large-1.6  ai21labs/AI21-Jamba-Reasoning-3B
    """,
    "hunyuan_a13b": """
        tencent/Hunyuan-A13B-Instruct  tencent/Hunyuan-7B-Instruct
    """,
    "apriel": """
        ServiceNow-AI/Apriel-1.5-15b-Thinker  ServiceNow-AI/Apriel-1.6-15b-Thinker
    """,
    "nemotron_v2": """
        NVIDIA-Nemotron-Nano-v2  nvidia/NVIDIA-Nemotron-Nano-9B-v2  nvidia/NVIDIA-Nemotron-Nano-12B-v2
        nvidia/Llama-3_3-Nemotron-Super-49B-v1_5  nvidia/llama-3.3-nemotron-super-49b-v1.5
        nvidia/Llama-3.1-Nemotron-Nano-8B-v1  nvidia/Llama-3.1-Nemotron-Nano-4B-v1.1
        nvidia/Llama-3_1-Nemotron-Ultra-253B-v1
    """,
    "internlm": """
        internlm/internlm3-8b-instruct  internlm/internlm2_5-7b-chat  internlm/Intern-S1
    """,
    "hy_v3": """
        tencent/Hy3  tencent/Hy3-preview
    """,
    "hy_v4": """
        tencent/Hy4
    """,
    "poolside_v1": """
        poolside/Laguna-XS.2
    """,
    "iquest_q1": """
        IQuestLab/IQuest-Q1
    """,
    "dots": """
        rednote-hilab/dots.llm1.inst  rednote-hilab/dots.llm2
    """,
    "minicpm5": """
        openbmb/MiniCPM5-1B
    """,
    "functionary": """
        meetkai/functionary-small-v3.1  functionary-3.1
    """,
    "gigachat35": """
        ai-sage/GigaChat3.5-432B-A28B
    """,
    "mistral": """
        mistralai/Devstral-Small-2507  mistralai/Mistral-Small-3.2-24B-Instruct-2506  mistralai/Magistral-Small-2509
        mistralai/Ministral-3-8B-Instruct-2512  mistralai/Ministral-8B-Instruct-2410  mistralai/Mistral-7B-Instruct-v0.3
        mistralai/Mistral-Nemo-Instruct-2407  devstral:24b  unsloth-mistral-Devstral-Small-2507
        mistralai/Mixtral-8x7B-Instruct-v0.1  mixtral:8x22b  Mixtral
    """,
    "llama3": """
        meta-llama/Llama-3.3-70B-Instruct  meta-llama/Meta-Llama-3.1-8B-Instruct  llama3.1:8b  llama3.2
        meta-llama-Llama-3.1-8B-Instruct  meta-llama_Llama-3.3-70B-Instruct-Q4_K_M.gguf
    """,
    "xlam": """
        Salesforce/Llama-xLAM-2-8b-fc-r  Salesforce/xLAM-2-32b-fc-r  MadeAgents/Hammer2.1-7b
        Qwen/Qwen2.5-Coder-32B-Instruct-AWQ  qwen2.5-coder:7b
    """,
    "pythonic": """
        meta-llama/Llama-4-Scout-17B-16E-Instruct  llama4:maverick  Team-ACE/ToolACE-8B
        Team-ACE/ToolACE-2-Llama-3.1-8B  Llama-4-Maverick-17B-128E
    """,
    "olmo3": """
        allenai/Olmo-3-7B-Instruct  allenai/Olmo-3-32B-Think  olmo-3.1:32b
    """,
    "lfm2": """
        LiquidAI/LFM2-1.2B  LiquidAI/LFM2-1.2B-Tool  lfm2.5-thinking:1.2b  LiquidAI/LFM2.5-1.2B-Instruct
    """,
    "phi4_mini": """
        microsoft/Phi-4-mini-instruct  phi4-mini  microsoft/Phi-4-multimodal-instruct
        fireworks-ai/firefunction-v2  fireworks-ai/llama-3-firefunction-v2
    """,
    "granite3": """
        ibm-granite/granite-3.3-8b-instruct  granite3.2:8b
    """,
    "granite_20b": """
        ibm-granite/granite-20b-functioncalling
    """,
    "gigachat3": """
        ai-sage/GigaChat3-10B-A1.8B  ai-sage/GigaChat3.1-10B-A1.8B
    """,
    "cohere": """
        CohereLabs/c4ai-command-a-03-2025  CohereLabs/c4ai-command-r7b-12-2024  CohereLabs/command-a-reasoning-08-2025
    """,
    "apertus": """
        swiss-ai/Apertus-8B-Instruct-2509
    """,
    "plamo3": """
        pfnet/plamo-3-nict-8b-base
    """,
    "step3": """
        stepfun-ai/step3
    """,
    "gemma4": """
        google/gemma-4-31B-it  google/gemma-4-E4B-it  google/gemma-4-26B-A4B-it  gemma4:e2b  unsloth/gemma-4-12b-it-GGUF
    """,
    "functiongemma": """
        google/functiongemma-270m-it  functiongemma:270m
    """,
    "kimi_vl": """
        moonshotai/Kimi-VL-A3B-Thinking  moonshotai/Kimi-VL-A3B-Instruct
    """,
    "think": """
        deepseek-ai/DeepSeek-R1-Distill-Llama-70B  deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B  deepseek-r1:8b
        deepseek-r1:1.5b  unsloth/DeepSeek-R1-Distill-Qwen-32B-bnb-4bit  zai-org/GLM-Z1-32B-0414
        microsoft/Phi-4-reasoning-plus  phi4-mini-reasoning
    """,
}
PAIRS = [(name, row) for row, names in KNOWN.items() for name in re.split(r"\s+", names.strip())]


@pytest.mark.parametrize(("name", "row"), PAIRS, ids=[name for name, _ in PAIRS])
def test_names_in_use(name, row):
    assert hs.format_for(name) == row


def test_only_the_mode_of_a_model_has_no_name():
    assert set(hs.formats.names()) - {row for _, row in PAIRS} == {"deepseek_search"}


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("/models/Qwen3-8B", "hermes"),
        ("/models/qwen3-runs/DeepSeek-V3.1/", "deepseek"),
        ("./Qwen3-Coder-30B-A3B-Instruct-Q4_K_M-00001-of-00003.gguf", "qwen3_coder"),
        (r"D:\models\GLM-4.5-Air\model-00001-of-00047.safetensors", "glm"),
        ("/hub/models--Qwen--Qwen3-8B/snapshots/9c925d64d72725edaf899c6cb9c377fd0709d9c5", "hermes"),
        ("/hub/models--moonshotai--Kimi-K2-Instruct/snapshots/main/tokenizer.json", "kimi_k2"),
        ("unsloth/Qwen3-Coder-Next-GGUF/Q4_K_M/Q4_K_M.gguf", "qwen3_coder"),
        ("out/qwen3-8b-sft/checkpoint-1200", "hermes"),
        ("s3://bucket/seed-oss-36b/final", "seed_oss"),
    ],
)
def test_the_last_part_of_a_path_that_names_something(path, row):
    assert hs.format_for(path) == row


UNKNOWN = """
    meta-llama/Meta-Llama-3-8B-Instruct  mistralai/Mistral-7B-Instruct-v0.2  google/gemma-3-27b-it
    moonshotai/Kimi-K4  THUDM/glm-4-9b-chat
    Qwen/Qwen2-7B-Instruct  Qwen/Qwen-7B  Qwen/Qwen4-8B  qwen30b
    deepseek-ai/DeepSeek-V2  deepseek-ai/DeepSeek-V3.5  deepseek-ai/DeepSeek-V5  deepseek-chat

    teknium/OpenHermes-2.5-Mistral-7B  microsoft/phi-4  gpt-4o  MyQwen3-8B
    nvidia/nemotron-3-8b-chat-4k-sft  /models/qwen3/Llama-3-8B  /models/final  model.gguf  /
"""


@pytest.mark.parametrize("name", [*UNKNOWN.split(), "", " "])
def test_an_unknown_name_is_refused_with_what_to_do(name):
    with pytest.raises(hs.errors.FormatError) as caught:
        hs.format_for(name)
    assert str(caught.value) == (
        f"no format is known for the model {name!r}. Pass the format yourself with format=: one of the names that "
        "`harmonystream formats` lists, or a file with a format of your own (docs/own-format.md)"
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("functionary-3.2", "each part of its output begins with the name of who reads it"),
        ("meetkai/functionary-medium-v3.2", "each part of its output begins with the name of who reads it"),
        ("CohereForAI/c4ai-command-r-plus", "its calls are a Markdown fence after 'Action:'"),
        ("command-r:35b", "its calls are a Markdown fence after 'Action:'"),
    ],
)
def test_a_model_whose_calls_no_row_can_read_is_refused_with_the_reason(name, why):
    with pytest.raises(hs.errors.FormatError, match=rf"^no format is known for the model '{name}': {why}"):
        hs.format_for(name)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("Llama-3.1-8B-to-Qwen3-8B", "hermes, llama3"),
        ("TeichAI/Qwen3-8B-DeepSeek-v3.2-Speciale-Distill", "dsml, hermes"),
        ("gpt-oss-20b-to-Qwen3-Coder", "harmony, qwen3_coder"),
        ("Kimi-K2-in-GLM-4.5", "glm, kimi_k2"),
    ],
)
def test_a_name_of_two_formats_is_not_guessed(name, rows):
    with pytest.raises(
        hs.errors.FormatError, match=rf"^the name '{name}' fits models of different formats \({rows}\)\. Pass"
    ):
        hs.format_for(name)


@pytest.mark.parametrize(
    "name", ["acme/Llama-3-Qwen3-merge", "Qwen/Qwen3-Embedding-8B", "Qwen/Qwen3-Reranker-4B", "phi3-of-glm-4.5"]
)
def test_a_name_that_also_names_something_else_is_not_guessed(name):
    with pytest.raises(
        hs.errors.FormatError, match=r"^the name '.*' fits the format '(hermes|glm)', and names another kind of model"
    ):
        hs.format_for(name)


@pytest.mark.parametrize("value", [None, b"Qwen3-8B", 3])
def test_what_is_no_name(value):
    with pytest.raises(TypeError, match=f"^model_name is a str such as 'Qwen/Qwen3-8B', not {type(value).__name__}$"):
        hs.format_for(value)


def test_every_format_has_models_for_people():
    assert models_of("hermes") == "Qwen3, Qwen2.5, QwQ, Hermes 2 to 4, SmolLM3, Trinity"
    assert all(map(models_of, hs.formats.names()))
    assert models_of("mine") == ""


def test_the_result_is_what_parser_takes():
    assert hs.Parser(hs.format_for("openai/gpt-oss-120b")).format == "harmony"
