"""Damaged and hostile inputs by the thousand, each opened in a child process: `python -m tests.fuzz --cases 100000`.

`subjects` says what a class of inputs is, how one of them is harmed and what it may answer; `mutators` harm bytes, arrays and
descriptions; `runner` is the child, which runs cases one after the other and notes each before it begins; `driver` starts
children, sees which of them died or hang, and counts.
"""
