"""Models that reason between tags and do not call tools."""

from .spec import Format

# The turns of the models that learned to reason. A tag in the user's part of the prompt opens nothing.
THINK = Format(
    name="think",
    think=("<think>", "</think>"),
    turns=(
        *("<｜User｜>", "<｜Assistant｜>", "<|im_start|>", "<|start_header_id|>", "<|user|>", "<|assistant|>"),
        *("[INST]", "[/INST]", "<start_of_turn>"),
    ),
)

KIMI_VL = Format(name="kimi_vl", think=("◁think▷", "◁/think▷"), stops=("<|im_end|>", "[EOS]"))
