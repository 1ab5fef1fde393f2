"""Models that reason between tags and call no tools."""

from .spec import Format

THINK = Format(name="think", think=("<think>", "</think>"))

KIMI_VL = Format(name="kimi_vl", think=("◁think▷", "◁/think▷"), stops=("<|im_end|>", "[EOS]"))
