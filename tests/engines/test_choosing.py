import sys

import pytest

import gramian as gm
from gramian.engines.collect import ENGINES, choose_engine
from gramian.engines.local import LocalEngine
from gramian.errors import DataError, MissingPackageError


def test_by_default_and_by_name_the_local_engine():
    for name in (None, "local"):
        engine = choose_engine(name, n_jobs=2, memory_limit="1GB", progress=False)
        assert isinstance(engine, LocalEngine)
        assert (engine.n_threads, engine.memory_limit, engine.progress) == (2, 10**9, False)


def test_an_engine_is_taken_as_it_is():
    engine = LocalEngine(n_jobs=1)
    assert choose_engine(engine, n_jobs=2) is engine


@pytest.mark.parametrize("name", ["cloud", 3, ["local"]])
def test_an_unknown_engine_is_named_with_those_there_are(name):
    with pytest.raises(DataError, match="'local'") as caught:
        gm.collect([[1.0], [2.0]], engine=name)
    assert str(name) in str(caught.value)
    assert all(known in str(caught.value) for known in ENGINES)


def test_without_dask_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.base", None)
    monkeypatch.delitem(sys.modules, "gramian.engines.dask", raising=False)
    with pytest.raises(
        MissingPackageError, match=r"this engine needs dask and distributed; install them with: pip install"
    ):
        choose_engine("dask")
