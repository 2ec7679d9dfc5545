"""Run one benchmark by name: ``python -m benchmarks moments --only a,c``."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = {
    "all": "every benchmark one after another, into results.json and RESULTS.md; --quick takes a few minutes",
    "anomalies": "odd rows in a pool of problems against random walks, trees and PyOD; false alarms; wide and large tables",
    "crosses": "additive models with crosses against boosting, EBM and one-hot models: quality, time and memory",
    "cross_tests": "how often the test of pairs rejects where none matters, and how often it finds one that does",
    "cross_scale": "additive models on a million rows against EBM, and on files larger than memory in multiples of one pass",
    "distances": "features from distances, against kNN, SVM, UMAP, MDS + LDA and the literal recipe",
    "joins": "moments over a star without the join, against DuckDB, pandas and one-hot; tables ranked; counting in databases",
    "linear": "PCA, Fisher, whitening and their features, against scikit-learn and sparse products",
    "mahalanobis": "supervised features against target encoders, unsupervised maps and the source's loop",
    "online": "Hebbian PCA, autoencoder and neural ICA: speed at equal error, codes, memory, convergence, drift",
    "moments": "one pass from tables in memory and Parquet files, against tabmat, scipy, numpy and pyarrow",
    "selection": "columns selected from moments, against scikit-learn, fastcan, skglm and mrmr-selection; false discoveries",
    "random": "random maps, extreme learning machines and reservoirs, against scikit-learn, reservoirpy, an SVM and 1-NN DTW",
    "production": "one row, one query, one start: against a scikit-learn Pipeline, transform_file and the clock",
    "regression": "least squares, logistic regression and clustered errors, against glum, statsmodels, pyfixest, scikit-learn",
    "reliability": "what wide tables cost, and by how much memory grows at a limit: the figures of docs/reliability.md",
    "scale": "the same pass on Dask, on Spark and a billion rows here: time, bytes, memory, costs; against dask-ml, Spark ML",
    "sparse": "matching pursuit, dictionary learning and non-negative factors, against scikit-learn and SPAMS",
    "tables": "thousands of real tables in every dialect and through every usual step: misreadings, exceptions, slow steps",
}


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in NAMES:
        print("usage: python -m benchmarks NAME [--help]\n")
        for name, about in NAMES.items():
            print(f"  {name:12} {about}")
        return 0 if not arguments or arguments[0] in ("-h", "--help") else 2
    return int(import_module(f"benchmarks.{arguments[0]}").main(arguments[1:]))


sys.exit(main(sys.argv[1:]))
