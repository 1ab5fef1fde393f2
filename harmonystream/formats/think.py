"""Models that reason between tags and call no tools."""

from .spec import Format

# The turns of the models that were taught to think: a tag of the user's, in the prompt, opens nothing.
THINK = Format(
    name="think",
    think=("<think>", "</think>"),
    turns=(
        *("<｜User｜>", "<｜Assistant｜>", "<|im_start|>", "<|start_header_id|>", "<|user|>", "<|assistant|>"),
        *("[INST]", "[/INST]", "<start_of_turn>"),
    ),
)

KIMI_VL = Format(name="kimi_vl", think=("◁think▷", "◁/think▷"), stops=("<|im_end|>", "[EOS]"))
