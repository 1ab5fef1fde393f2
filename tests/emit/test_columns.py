"""The columns of a step: what is where in the block, and what numpy sees of it."""

from __future__ import annotations

import pytest

from harmonystream import ContentDelta, ReasoningDelta, Region, ToolCallDelta, ToolCallStart
from harmonystream._native.wire.batch import Batch
from harmonystream.emit.columns import Columns

COLUMNS = {"slot": "i", "kind": "B", "index": "i", "channel": "B", "start": "q", "stop": "q", "offset": "q"}


def step_of_three() -> tuple[Batch, list[int], Columns]:
    batch = Batch(capacity=4)
    slots = [batch.open(start="reasoning"), batch.open(start="<|start|>assistant<|channel|>final<|message|>")]
    slots.append(batch.open(start="<|start|>assistant<|channel|>commentary to=functions.f<|message|>"))
    batch.feed(slots, [220] * 3)  # what the prompt has opened is told with the first token
    return batch, slots, batch.feed(slots, [12194, 11, 90])


def test_a_row_for_each_event():
    _, slots, columns = step_of_three()
    assert len(columns) == columns.rows == 3
    assert columns.slot.tolist() == slots == [0, 1, 2]
    assert columns.kind.tolist() == [Region.REASONING, Region.CONTENT, Region.ARGUMENTS] == [2, 3, 4]
    assert columns.channel.tolist() == [1, 3, 2]
    assert columns.index.tolist()[2] == 0
    assert columns.start.tolist() == [1, 1, 1]
    assert columns.stop.tolist() == [2, 2, 2]
    assert columns.offset.tolist() == [0, 2, 3, 4]
    assert columns.text == b"Hi,{"
    assert columns.others == {}
    assert repr(columns) == "<Columns: 3 rows>"


def test_the_kind_of_a_delta_is_the_region_of_its_tokens():
    """So that a mask by kind and one by label() select the same."""
    batch, slots, columns = step_of_three()
    assert [batch[slot].region for slot in slots] == [Region(kind) for kind in columns.kind]


def test_rows_as_events():
    _, _, columns = step_of_three()
    assert list(columns) == [
        (0, ReasoningDelta("Hi", 1, 2)),
        (1, ContentDelta(",", "final", 1, 2)),
        (2, ToolCallDelta(0, "{", 1, 2)),
    ]


def test_what_is_no_delta_is_in_others():
    batch = Batch(capacity=1)
    slot = batch.open(start="<|start|>assistant<|channel|>commentary to=functions.f<|message|>")
    columns = batch.feed([slot], [90])
    starts = [(row, event) for row, event in columns.others.items() if isinstance(event, ToolCallStart)]
    assert [(columns.kind[row] >= len(Region), event.name) for row, event in starts] == [(True, "f")]
    assert [event for _, event in columns] == [*columns.others.values(), ToolCallDelta(0, "{", 0, 1)]


def test_a_step_of_nothing():
    columns = Batch(capacity=1).feed([], [])
    assert [getattr(columns, name).tolist() for name in COLUMNS] == [[], [], [], [], [], [], [0]]
    assert (len(columns), list(columns), columns.text) == (0, [], b"")


@pytest.mark.parametrize(("name", "code"), COLUMNS.items())
def test_columns_are_typed_read_only_and_aligned(name, code):
    _, _, columns = step_of_three()
    column = getattr(columns, name)
    assert (column.format, column.readonly, column.contiguous) == (code, True, True)
    numpy = pytest.importorskip("numpy")
    array = numpy.asarray(column)
    assert (array.tolist(), array.flags.aligned, array.flags.owndata) == (column.tolist(), True, False)
