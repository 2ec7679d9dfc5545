import multiprocessing
import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

from gramian import compiling
from gramian.compiling import Inlined, kernel


def _total(values):
    out = values[0] - values[0]
    for value in values:
        out += value
    return out


def test_a_kernel_compiles_only_the_signature_a_call_needs():
    total = kernel("float64(float64[::1])", "int64(int64[::1])")(_total)
    assert total(np.array([1.5, 2.0])) == 3.5
    assert [signature[0].dtype.name for signature in total._dispatcher.signatures] == ["float64"]
    assert total(np.array([1, 2])) == 3
    assert len(total._dispatcher.signatures) == 2


def test_a_kernel_is_called_while_it_is_compiled_for_other_types(monkeypatch):
    """One thread counts codes of 16 bits, in arrays that could be written to, when another comes with codes of 32."""
    frozen = [numba.types.Array(kind, 1, "C", readonly=True) for kind in (numba.int64, numba.float64)]
    total = kernel(*(each.dtype(each) for each in frozen))(_total)
    ones, answers = np.ones(3, np.int64), []
    assert total(ones) == 3
    real = type(total._dispatcher).compile

    def compile_slowly(dispatcher, signature):
        def beside():
            try:
                answers.append(total(ones))
            except RuntimeError as error:
                answers.append(str(error))

        out = real(dispatcher, signature)
        if threading.current_thread() is threading.main_thread():
            other = threading.Thread(target=beside)
            other.start()
            other.join()
        return out

    monkeypatch.setattr(type(total._dispatcher), "compile", compile_slowly)
    assert total(np.full(2, 1.5)) == 3.0
    assert answers
    assert set(answers) == {3}
    assert len(total._dispatcher.signatures) == 2


def test_a_kernel_refuses_types_that_fit_no_signature():
    total = kernel("float64(float64[::1])")(_total)
    with pytest.raises(TypeError, match="none of these types"):
        total(np.array([1, 2]))
    assert total(np.array([1.0])) == 1.0
    with pytest.raises(TypeError):
        total(np.array([1, 2]))
    assert len(total._dispatcher.signatures) == 1


def test_a_kernel_compiles_where_no_folder_can_hold_a_cache(monkeypatch):
    real = compiling._njit

    def no_place(function, cache=False):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(function)

    monkeypatch.setattr(compiling, "_njit", no_place)
    assert kernel("float64(float64[::1])")(_total)(np.array([2.0, 3.0])) == 5.0


def test_other_errors_of_the_compiler_come_through(monkeypatch):
    def broken(*args, **options):
        raise RuntimeError("the compiler is broken")

    monkeypatch.setattr(compiling, "_njit", broken)
    with pytest.raises(RuntimeError, match="broken"):
        kernel("float64(float64[::1])")(_total)(np.ones(2))


@Inlined
def _plus_one(value):
    return value + 1.0


def _total_and_one(values):
    return _plus_one(values.sum())


def test_a_function_is_compiled_with_those_that_call_it():
    more = kernel("float64(float64[::1])")(_total_and_one)
    assert more(np.array([1.0, 2.0])) == more.function(np.array([1.0, 2.0])) == 4.0


def _compile_in_child(answers):
    answers.put(kernel("float64(float64[::1])")(_total)(np.array([1.0, 1.0])))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_during_a_compilation_can_compile():
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    with compiling._compiling:
        child = context.Process(target=_compile_in_child, args=(answers,))
        child.start()
    assert answers.get(timeout=60) == 2.0
    child.join()


def test_the_types_of_a_call_are_looked_at_once_for_each_kind_of_array(monkeypatch):
    looked, fits = [], compiling._fits
    monkeypatch.setattr(compiling, "_fits", lambda *arguments: looked.append(1) or fits(*arguments))
    total = kernel("float64(float64[::1])", "int64(int64[::1])", "int32(int32[::1])")(_total)
    for kind in (np.float64, np.int64):
        total(np.ones(2, kind))
        before = len(looked)
        for _ in range(3):
            assert total(np.ones(2, kind)) == 2
        assert len(looked) == before
    assert len(total._dispatcher.signatures) == 2


KERNEL = """
import numpy as np
from gramian.compiling import kernel

@kernel("float64(float64[::1])", "int64(int64[::1])")
def total(values):
    out = values[0] - values[0]
    for value in values:
        out += value
    return out

print(total(np.array([1.0, 2.5])), total(np.array([1, 2])))
"""


def run_kernel(folder, **environment):
    path = folder / "summing.py"
    path.write_text(KERNEL)
    return subprocess.run(
        [sys.executable, str(path)], env=os.environ | environment, capture_output=True, text=True, timeout=120
    )


def test_a_damaged_cache_is_passed_by(tmp_path):
    cache = tmp_path / "cache"
    first = run_kernel(tmp_path, NUMBA_CACHE_DIR=str(cache))
    assert first.stdout == "3.5 3\n", first.stderr
    files = [path for path in cache.rglob("*") if path.suffix in (".nbi", ".nbc")]
    assert len(files) == 3
    for path in files:
        path.write_bytes(b"\x80\x04garbage")
    again = run_kernel(tmp_path, NUMBA_CACHE_DIR=str(cache))
    assert (again.stdout, again.stderr) == ("3.5 3\n", "")


def test_a_cache_that_cannot_be_written_is_passed_by(monkeypatch):
    total = kernel("float64(float64[::1])", "int64(int64[::1])")(_total)
    assert total(np.array([1.5, 2.0])) == 3.5

    def no_room(signature, overload):
        raise OSError("no space left on device")

    monkeypatch.setattr(total._dispatcher._cache, "save_overload", no_room)
    monkeypatch.setattr(total._dispatcher._cache, "load_overload", lambda signature, context: None)
    assert total(np.array([1, 2])) == 3
    assert total(np.array([1.5, 2.0])) == 3.5
    with pytest.raises(TypeError):
        total(np.array([1, 2], dtype=np.int8))


def test_without_compilation_one_line_says_so(tmp_path):
    found = run_kernel(tmp_path, NUMBA_DISABLE_JIT="1")
    assert found.returncode == 1
    assert found.stderr.splitlines()[-1].startswith("gramian.errors.GramianError: NUMBA_DISABLE_JIT is set")
