"""Conversations as rows for a trainer: token ids, and a mask of what the model learns, in one Parquet file.
python training_rows.py rows.parquet    (after: pip install 'harmonystream[prompt]' pyarrow)"""

import sys

import pyarrow as pa
import pyarrow.parquet as pq

import harmonystream as hs

CONVERSATIONS = [
    [{"role": "user", "content": "Tea?"}, {"role": "assistant", "reasoning": "Polite.", "content": "Gladly."}],
    [{"role": "user", "content": "6 * 7?"}, {"role": "assistant", "content": "42"}],
]
TRAINED = {hs.Region.HEADER, hs.Region.REASONING, hs.Region.CONTENT, hs.Region.ARGUMENTS}


def rows() -> pa.Table:
    ids = [hs.render(chat, model="gpt-oss-20b", training=True).ids for chat in CONVERSATIONS]
    labels = [hs.label(row, conversation=True) for row in ids]
    masks = [[region in TRAINED for region in row] for row in labels]
    return pa.table({"input_ids": pa.array(ids, pa.list_(pa.int32())), "loss_mask": masks})


if __name__ == "__main__":
    pq.write_table(rows(), sys.argv[1])
