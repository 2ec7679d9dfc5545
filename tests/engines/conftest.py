"""One small cluster for the tests of a module."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def client():
    """A Dask client of two workers with a thread each, in this process."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="inproc://"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client
