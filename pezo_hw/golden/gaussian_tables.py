"""Tables of the source `gaussian-clt`: data, made by scripts/search_table.py."""

# Written by `python scripts/search_table.py --write`; do not edit.
# fmt: off

MAGNITUDES: dict[int, tuple[int, ...]] = {
    4: (
        1, 1, 3, 3, 5, 5, 7, 9, 11, 11, 13, 15, 17, 19, 19, 21,
        21, 23, 25, 27, 27, 29, 33, 37, 39, 41, 45, 47, 49, 57, 67, 81,
    ),
    8: (
        1, 3, 3, 5, 5, 5, 7, 7, 9, 11, 11, 11, 11, 13, 13, 15,
        15, 15, 17, 17, 19, 21, 23, 23, 27, 27, 29, 37, 37, 41, 47, 57,
    ),
}
"""Magnitudes of a table's entries, by the number of terms in a sum; each comes with both signs."""
# fmt: on
