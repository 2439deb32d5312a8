"""What the writer keeps until PostgreSQL has it on its disk; `test_faults` crashes a real one."""

from playground.writer import Row, Unflushed


def row(seq: int) -> Row:
    return Row(1, seq, "[]")


def test_rows_are_kept_until_the_log_of_the_database_is_flushed_beyond_them() -> None:
    kept = Unflushed()
    kept.took([row(1)], written=100, flushed=100)
    assert kept.rows() == [row(1)]  # it ends behind 100, nobody knows where
    kept.took([row(2)], written=150, flushed=100)
    assert kept.rows() == [row(1), row(2)]
    kept.took([row(3)], written=200, flushed=149)
    assert kept.rows() == [row(1), row(2), row(3)]
    kept.took([], written=250, flushed=150)
    assert kept.rows() == [row(2), row(3)]
    kept.took([], written=300, flushed=300)
    assert kept.rows() == []


def test_after_a_crash_the_same_numbers_mean_other_rows() -> None:
    kept = Unflushed()
    kept.took([row(1)], written=100, flushed=90)
    kept.took([row(2)], written=150, flushed=90)  # crashes: both are lost, and written again at 180
    kept.took_again([row(3)])
    assert kept.rows() == [row(1), row(2), row(3)]
    kept.took([], written=200, flushed=170)
    assert kept.rows() == [row(1), row(2), row(3)]
    kept.took([], written=210, flushed=200)
    assert kept.rows() == []
