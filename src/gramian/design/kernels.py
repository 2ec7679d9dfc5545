"""Compiled loops that turn a column's values into codes; single-threaded, free of the interpreter lock.

Validity is Arrow's bitmap (one bit per row, least significant first); an empty bitmap means that every row is valid.
"""

from __future__ import annotations

import numpy as np

from gramian.compiling import Inlined, kernel

_index, _bits, _long = (f"Array({kind}, 1, 'C', readonly=True)" for kind in ("int32", "uint8", "int64"))


_CODES = ("uint16[::1]", "uint32[::1]")
_BLOCK = 512


@Inlined
def _fill(indices, codes, out):  # type: ignore[no-untyped-def]
    """Write `codes[indices]` as long as indices lead inside; return whether all did."""
    for start in range(0, indices.size, _BLOCK):
        block, to = indices[start : start + _BLOCK], out[start : start + _BLOCK]
        # The largest first, in a loop of its own: it takes vector instructions and brings the block into the nearest cache,
        # so that looking costs 0.01 ns a row, where a reading of its own costs 0.4. Unsigned, what is negative is too large.
        largest = np.uint32(0)
        for i in range(block.size):
            largest = max(largest, np.uint32(block[i]))
        if largest >= codes.size:
            return False
        for i in range(block.size):
            to[i] = codes[np.uint64(np.uint32(block[i]))]
    return True


@kernel(*(f"boolean({_index}, {_bits}, int64, {_index}, int64, {codes})" for codes in _CODES))
def gather_codes(indices, bits, first_bit, codes, null_code, out):  # type: ignore[no-untyped-def]
    """Write `codes[indices]`, or `null_code` where not valid; return whether every index led inside."""
    if bits.size == 0:
        return _fill(indices, codes, out)
    for i in range(indices.size):
        at = first_bit + i
        if (bits[at >> 3] >> (at & 7)) & 1:
            index = np.uint64(np.uint32(indices[i]))
            if index >= codes.size:
                return False
            out[i] = codes[index]
        else:
            out[i] = null_code
    return True


_assigned = f"{_index}, {_bits}, int64, int32[::1], int64, int64, int32[::1]"


@kernel(*(f"int64({_assigned}, {codes})" for codes in _CODES))
def assign_codes(indices, bits, first_bit, codes, null_code, n_codes, fresh, out):  # type: ignore[no-untyped-def]
    """Write `codes[indices]`, giving the next code to an entry at -1; list those entries, return how many.

    Where an index leads outside, return -1. A missing value takes `null_code`, or the next code where that is -1; it is
    listed as entry `len(codes)`.
    """
    unknown = 0
    for k in range(codes.size):
        unknown += codes[k] < 0
    n_fresh = 0
    row = 0
    # Until every entry has its code (soon, where there are few), each row may bring a new one.
    while row < indices.size and (unknown or bits.size):
        at = first_bit + row
        if bits.size == 0 or (bits[at >> 3] >> (at & 7)) & 1:
            index = np.uint64(np.uint32(indices[row]))
            if index >= codes.size:
                return -1
            code = codes[index]
            if code < 0:
                code = np.int32(n_codes + n_fresh)
                codes[index] = code
                fresh[n_fresh] = indices[row]
                n_fresh += 1
                unknown -= 1
            out[row] = code
        else:
            if null_code < 0:
                null_code = n_codes + n_fresh
                fresh[n_fresh] = codes.size
                n_fresh += 1
            out[row] = null_code
        row += 1
    return n_fresh if _fill(indices[row:], codes, out[row:]) else -1


@kernel(f"int64({_long}, {_bits}, int64, int64[::1], int64, int64, int64[::1], int16[::1], uint16[::1])")
def integer_codes(values, bits, first_bit, levels, n_codes, null_code, slots, slot_codes, out):  # type: ignore[no-untyped-def]
    """Code integers by level; return the number of codes in use, or -1 where one more value has no room.

    `levels` has room for the values allowed and one more, the missing level, whose code is `null_code` or, where that
    is -1, the next one: then `slots[-1]` says which. The rest of `slots`, with `slot_codes`, is an open-addressing table
    (a power of two in size, codes -1 where empty) that survives from batch to batch.
    """
    mask = slot_codes.size - 1
    for i in range(values.size):
        if bits.size:
            at = first_bit + i
            if not ((bits[at >> 3] >> (at & 7)) & 1):
                if null_code < 0:
                    null_code = n_codes
                    slots[-1] = n_codes
                    n_codes += 1
                out[i] = null_code
                continue
        value = values[i]
        spread = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64(spread >> np.uint64(40)) & mask
        while slot_codes[slot] >= 0 and slots[slot] != value:
            slot = (slot + 1) & mask
        code = slot_codes[slot]
        if code < 0:
            if n_codes - (null_code >= 0) == levels.size - 1:
                return -1
            code = np.int16(n_codes)
            slots[slot] = value
            slot_codes[slot] = code
            levels[n_codes] = value
            n_codes += 1
        out[i] = code
    return n_codes


@kernel("void(int64, int64, uint64, uint8[::1])")
def draw_folds(first_row, n_folds, seed, out):  # type: ignore[no-untyped-def]
    """Write the fold of rows first_row, first_row + 1, ...

    Within each `n_folds` consecutive rows every fold occurs once; the order is a shuffle drawn from the seed and the
    number of the group, so a row's fold does not depend on how rows are batched.
    """
    order = np.empty(n_folds, np.uint8)
    group = first_row // n_folds
    place = first_row - group * n_folds
    row = 0
    while row < out.size:
        for k in range(n_folds):
            order[k] = k
        state = seed ^ (np.uint64(group) * np.uint64(0x9E3779B97F4A7C15))
        for k in range(n_folds - 1, 0, -1):
            state += np.uint64(0x9E3779B97F4A7C15)
            mixed = state
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            # A number below k + 1 from the upper bits, by a product instead of a division.
            j = np.int64(((mixed >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
            order[k], order[j] = order[j], order[k]
        while place < n_folds and row < out.size:
            out[row] = order[place]
            row += 1
            place += 1
        place = 0
        group += 1


@Inlined
def _word(letters, at):  # type: ignore[no-untyped-def]
    """Return the eight bytes that begin at `letters[at]`, wherever they lie: the compiler makes one load of it."""
    place = np.uint64(at)
    word = np.uint64(0)
    for k in range(8):
        word |= np.uint64(letters[place + np.uint64(k)]) << np.uint64(8 * k)
    return word


@Inlined
def _ends(letters, start, stop):  # type: ignore[no-untyped-def]
    """Return a text's first and last eight bytes: with its length, all that a text of at most sixteen bytes is."""
    if stop - start >= 8:
        return _word(letters, start), _word(letters, stop - 8)
    word = np.uint64(0)
    if start + 8 <= letters.size:
        unused = np.uint64(64) - (np.uint64(stop - start) << np.uint64(3))
        # A shift by all 64 bits is not defined: the empty text keeps its zero.
        if stop > start:
            word = _word(letters, start) << unused
        return word, word
    for at in range(stop - 1, start - 1, -1):
        word = (word << np.uint64(8)) | np.uint64(letters[at])
    if stop > start:
        word <<= np.uint64(64) - (np.uint64(stop - start) << np.uint64(3))
    return word, word


@Inlined
def _text_hash(letters, start, stop, first, last):  # type: ignore[no-untyped-def]
    """Return 64 bits that depend on every byte; `first` and `last` are the text's `_ends`."""
    state = (np.uint64(stop - start) * np.uint64(0x9E3779B97F4A7C15)) ^ first
    state *= np.uint64(0xBF58476D1CE4E5B9)
    for at in range(start + 8, stop - 8, 8):
        state ^= state >> np.uint64(32)
        state = (state ^ _word(letters, at)) * np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(32)
    # The low bits of a product know only the low bits of its factors, and slots are chosen by them.
    state ^= last
    state = (state ^ (state >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    state = (state ^ (state >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return state ^ (state >> np.uint64(32))


@Inlined
def _same_text(a, at_a, b, at_b, length):  # type: ignore[no-untyped-def]
    """Return whether two texts of more than sixteen bytes are equal but for their ends, which are known to be."""
    k = 8
    while k < length - 8 and _word(a, at_a + k) == _word(b, at_b + k):
        k += 8
    return k >= length - 8


_LONG = np.int64(17)
_ROWS_AHEAD = 64


@kernel(
    f"UniTuple(int64, 3)({_index}, {_bits}, {_bits}, int64, int64, boolean, int64, int64,"
    " int64[::1], uint8[::1], uint64[:, ::1], uint8[::1], uint32[::1], int32[::1])"
)
def text_codes(  # type: ignore[no-untyped-def]
    offsets, letters, bits, first_bit, row, insert, null_code, n_labels, starts, kept, ends, lengths, slots, out
):  # fmt: skip
    """Number texts from `row` on; return the row reached, the labels there are, and the missing value's code.

    The row reached is before the end where there is no room for one more label. Label k lies at
    `starts[k] : starts[k + 1]` of `kept`, its first and last eight bytes in `ends[k]`, its length in `lengths[k]`, 17
    where it is more than 16. `slots` is an open-addressing table, a power of two in size and more than twice the labels:
    the lower bits of a slot, as many as number the slots, are the label's number plus one, 0 where it is empty; above
    them are bits of its hash. A text of at most 16 bytes is its length and its two ends, so that comparing it takes two
    cache lines, the slot's and the ends', and one of the lengths, which are few.
    """
    mask = np.uint64(slots.size - 1)
    label_bits = np.uint32(slots.size - 1)
    known = np.empty((3, _ROWS_AHEAD), np.uint64)
    hashes, firsts, lasts = known[0], known[1], known[2]
    guesses = np.empty(_ROWS_AHEAD, np.uint32)
    while row < out.size:
        ahead = min(_ROWS_AHEAD, out.size - row)
        # Hash a block of rows, then look at all their slots: the cache misses of one row do not wait for another's.
        edges, codes = offsets[row : row + ahead + 1], out[row : row + ahead]
        for k in range(ahead):
            start, stop = np.int64(edges[k]), np.int64(edges[k + 1])
            first, last = _ends(letters, start, stop)
            firsts[k], lasts[k] = first, last
            hashes[k] = _text_hash(letters, start, stop, first, last)
        for k in range(ahead):
            guesses[k] = slots[hashes[k] & mask]
        for k in range(ahead):
            if bits.size:
                at = first_bit + row + k
                if not ((bits[at >> 3] >> (at & 7)) & 1):
                    if null_code < 0 and insert:
                        if n_labels + 1 == starts.size:
                            return row + k, n_labels, null_code
                        starts[n_labels + 1] = starts[n_labels]
                        null_code = n_labels
                        n_labels += 1
                    codes[k] = null_code
                    continue
            state, first, last = hashes[k], firsts[k], lasts[k]
            tag = np.uint32(state >> np.uint64(32)) & ~label_bits
            slot, entry = state & mask, guesses[k]
            if entry == 0:
                # A row of this block may have filled it since.
                entry = slots[slot]
            code = np.int64(-1)
            while entry:
                if entry & ~label_bits == tag:
                    label = np.uint64(entry & label_bits) - np.uint64(1)
                    length = np.int64(edges[k + 1] - edges[k])
                    short = np.uint8(min(length, _LONG))
                    if ends[label, 0] == first and ends[label, 1] == last and lengths[label] == short:
                        begin = starts[label] if length >= _LONG else 0
                        if length < _LONG or (
                            starts[label + np.uint64(1)] - begin == length
                            and _same_text(kept, begin, letters, np.int64(edges[k]), length)
                        ):
                            code = np.int64(label)
                            break
                slot = (slot + np.uint64(1)) & mask
                entry = slots[slot]
            if code < 0 and insert:
                begin, start, stop = starts[n_labels], np.int64(edges[k]), np.int64(edges[k + 1])
                if n_labels + 1 == starts.size or begin + stop - start > kept.size:
                    return row + k, n_labels, null_code
                for c in range(stop - start):
                    kept[begin + c] = letters[start + c]
                starts[n_labels + 1] = begin + stop - start
                ends[n_labels, 0], ends[n_labels, 1] = first, last
                lengths[n_labels] = min(stop - start, _LONG)
                n_labels += 1
                slots[slot] = tag | np.uint32(n_labels)
                code = n_labels - 1
            codes[k] = code
        row += ahead
    return out.size, n_labels, null_code


@kernel("void(int64[::1], uint8[::1], uint64[:, ::1], int64, int64, uint32[::1])")
def fill_slots(starts, kept, ends, n_labels, null_code, slots):  # type: ignore[no-untyped-def]
    """Place labels into an empty table."""
    mask = np.uint64(slots.size - 1)
    for label in range(n_labels):
        if label != null_code:
            start, stop = starts[label], starts[label + 1]
            state = _text_hash(kept, start, stop, ends[label, 0], ends[label, 1])
            slot = state & mask
            while slots[slot]:
                slot = (slot + np.uint64(1)) & mask
            slots[slot] = (np.uint32(state >> np.uint64(32)) & ~np.uint32(mask)) | np.uint32(label + 1)


@kernel(f"void({_long}, {_bits}, uint64[::1])")
def hash_text(offsets, letters, out):  # type: ignore[no-untyped-def]
    """Write a 64-bit hash (FNV-1a) of each text, given as Arrow's offsets and bytes."""
    for i in range(out.size):
        state = np.uint64(0xCBF29CE484222325)
        for at in range(offsets[i], offsets[i + 1]):
            state = (state ^ np.uint64(letters[at])) * np.uint64(0x100000001B3)
        out[i] = state


@kernel("void(uint8[::1], int64[::1], int32[::1])")
def order_by_fold(folds, ends, out):  # type: ignore[no-untyped-def]
    """Write the rows of fold 0 in order, then those of fold 1, ...; `ends` (folds + 1,) gets where each begins and ends."""
    ends[:] = 0
    for i in range(folds.size):
        ends[np.uint64(folds[i]) + np.uint64(1)] += 1
    heads = np.empty(ends.size - 1, np.int64)
    for k in range(heads.size):
        heads[k] = ends[k]
        ends[k + 1] += ends[k]
    for i in range(folds.size):
        fold = np.uint64(folds[i])
        out[heads[fold]] = i
        heads[fold] += 1


@kernel(*(f"void({codes}, {_index}, {codes})" for codes in _CODES))
def pick(codes, rows, out):  # type: ignore[no-untyped-def]
    """Write `codes[rows]`."""
    for i in range(rows.size):
        out[i] = codes[np.uint64(np.uint32(rows[i]))]
