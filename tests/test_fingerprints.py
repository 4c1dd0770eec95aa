"""Fingerprints of Arrow tables: the same for the same cells, however they are stored."""

from __future__ import annotations

import pyarrow as pa

from emulator.engine.identity import fingerprint


def test_fingerprints_go_by_what_a_table_holds() -> None:
    table = pa.table({"n": pa.array([None, 1, 2, 3]), "t": ["a", None, "bc", ""], "l": [[1], None, [], [2, 3]]})
    assert fingerprint(pa.concat_tables([table.slice(0, 1), table.slice(1)])) == fingerprint(table)
    assert fingerprint(table.take([0, 1, 2, 3])) == fingerprint(table)
    others = [table.slice(1), table.take([0, 1, 3, 2])]
    others += [table.set_column(0, "n", pa.array([0, 1, 2, 3])), table.set_column(1, "t", pa.array(["a", "", "bc", ""]))]
    others += [table.set_column(1, "t", pa.array(["ab", None, "c", ""]))]
    others += [table.set_column(2, "l", pa.array(lists)) for lists in ([[1], [], [], [2, 3]], [[1], None, [2], [3]])]
    assert len({fingerprint(other) for other in (table, *others)}) == len(others) + 1
