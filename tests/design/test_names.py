import pyarrow as pa

from gramian.design.schema import Column, Labels, disambiguated, names_of_design


def test_a_level_that_reads_like_a_column_gets_a_number():
    columns = [Column("a", "category", "a"), Column("a_b", "number", "a_b")]
    assert names_of_design(columns, [Labels(pa.array(["b", "c"]))]) == ["a_b", "a_c", "a_b (2)"]


def test_a_number_that_is_taken_is_passed_over():
    assert disambiguated(["x", "x", "x (2)"]) == ["x", "x (3)", "x (2)"]
