"""Linear systems and eigenpairs of operators that only multiply."""
