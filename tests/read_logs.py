"""Read what trainings have logged: TensorBoard's event files, and the files of Weights & Biases' offline runs."""

import json
import struct
import time
from collections import defaultdict

Points = dict[str, list[tuple[int, float]]]
"""For each name, pairs of steps and values in the order in which they are shown."""

_BLOCK, _FIRST, _WHOLE, _LAST = 32768, 2, 1, 4


def tensorboard_points(folder):
    """All values in a folder of event files, as TensorBoard shows them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    # TensorBoard has 32 bits of a value.
    return {name: [(one.step, one.value) for one in events.Scalars(name)] for name in events.Tags()["scalars"]}


def wandb_records(folder):
    """The records of all offline runs in a folder, in the order of the runs, once their service has written all."""
    records, deadline = [], time.monotonic() + 60
    for path in sorted(folder.glob("offline-run-*/*.wandb")):
        while not _has_ended(of_run := _read_records(path)):
            assert time.monotonic() < deadline, f"{path} has no end"
            time.sleep(0.05)
        records += of_run
    return records


def _has_ended(records):
    return any(record.WhichOneof("record_type") == "exit" for record in records)


def _read_records(path):
    from wandb.proto import wandb_internal_pb2

    content = path.read_bytes()
    assert content[:4] in (b":W&B", b"")
    return [wandb_internal_pb2.Record.FromString(data) for data in _read_leveldb_log(content)]


def _read_leveldb_log(content):
    """The records of a log in LevelDB's form, after a header of seven bytes."""
    at, parts = 7, b""
    while at + 7 <= len(content):
        if _BLOCK - at % _BLOCK < 7:
            at += _BLOCK - at % _BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", content[at : at + 7])
        part = content[at + 7 : at + 7 + length]
        if len(part) < length:
            return  # still being written
        at += 7 + length
        parts = part if kind in (_WHOLE, _FIRST) else parts + part
        if kind in (_WHOLE, _LAST):
            yield parts


def wandb_points(folder):
    """All values in the histories of the offline runs in a folder, one run after the other."""
    points = defaultdict(list)
    for record in wandb_records(folder):
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            values = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}
            for name in sorted(values):
                if not name.startswith("_"):
                    points[name].append((values["_step"], values[name]))
    return dict(points)
