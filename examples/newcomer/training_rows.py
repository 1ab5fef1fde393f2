"""Conversations as rows for a trainer: token ids, labels, and a mask of what the model learns, in one Parquet file.
python training_rows.py rows.parquet    (after: pip install 'harmonystream[prompt]' pyarrow)"""

import sys

import pyarrow as pa
import pyarrow.parquet as pq

import harmonystream as hs

CALL = {"id": "a", "type": "function", "function": {"name": "multiply", "arguments": '{"a": 6, "b": 7}'}}
TOOL = {
    "name": "multiply",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
}
CONVERSATIONS = [
    [{"role": "user", "content": "Tea?"}, {"role": "assistant", "reasoning": "Polite.", "content": "Gladly."}],
    {
        "messages": [
            {"role": "user", "content": "6 * 7?"},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "a", "content": "42"},
            {"role": "assistant", "content": "It is 42."},
        ],
        "tools": [TOOL],
    },
    [{"role": "nobody", "content": "?"}],  # a row that cannot be rendered is null, and its error says why
]


def rows() -> pa.Table:
    fields = ("ids", "labels", "mask", "error")
    return pa.table(hs.columns.render_many(CONVERSATIONS, model="gpt-oss-20b", date=None, fields=fields))


if __name__ == "__main__":
    table = rows()
    for row in table.to_pylist():
        print(row["error"] or f"{len(row['ids'])} ids, {sum(row['mask'])} of them learned")
    pq.write_table(table, sys.argv[1])
