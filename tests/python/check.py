"""Opens every exported file of some folders with the usual programs, and compares ids and numbers."""

import os
import sys

import numpy as np
import pandas as pd
import polars as pl
from gensim.models import KeyedVectors
from sklearn.neighbors import NearestNeighbors


def check():
    ids = open("out/ids.txt", encoding="utf-8", newline="").read().split("\n")[:-1]
    are_numbers = all(id == str(int(id)) for id in ids if id.isdigit()) and all(id.isdigit() for id in ids)
    left, right = np.load("out/left.npy"), np.load("out/right.npy")
    expected = {"left": left, "right": right, "both": np.hstack([left, right])}

    def same(found, numbers, vectors, of):
        assert [str(id) for id in found] == ids, f"ids of {of}"
        numbers = np.asarray(numbers, dtype=np.float32)
        assert numbers.shape == vectors.shape and (numbers == vectors).all(), f"numbers of {of}"

    for which, vectors in expected.items():
        columns = [f"{side}_{n}" for side in ["left", "right"] if which in (side, "both") for n in range(left.shape[1])]

        same(open(f"{which}.ids.txt", encoding="utf-8", newline="").read().split("\n")[:-1], np.load(f"{which}.npy"), vectors, "npy")
        archive = np.load(f"{which}.npz")
        assert archive["ids"].dtype.kind == ("i" if are_numbers else "U")
        same(archive["ids"], np.hstack([archive[side] for side in ["left", "right"] if which in (side, "both")]), vectors, "npz")

        for ending, separator in [("csv", ","), ("tsv", "\t")]:
            table = pd.read_csv(f"{which}.{ending}", sep=separator, dtype={"id": str}, keep_default_na=False)
            assert list(table.columns) == ["id", *columns]
            same(table["id"], table[columns].astype(np.float32), vectors, f"{ending} in pandas")
            table = pl.read_csv(f"{which}.{ending}", separator=separator, schema_overrides={"id": pl.String})
            assert table.columns == ["id", *columns]
            same(table["id"], table.select(columns).to_numpy(), vectors, f"{ending} in polars")

        table = pd.read_parquet(f"{which}.parquet")
        assert list(table.columns) == ["id", *columns] and (table.dtypes[columns] == np.float32).all()
        assert pd.api.types.is_integer_dtype(table["id"].dtype) == are_numbers
        same(table["id"], table[columns], vectors, "parquet in pandas")
        table = pl.read_parquet(f"{which}.parquet")
        assert table["id"].dtype == (pl.Int64 if are_numbers else pl.String)
        same(table["id"], table.select(columns).to_numpy(), vectors, "parquet in polars")

        words = KeyedVectors.load_word2vec_format(f"{which}.word2vec", binary=False)
        assert list(words.index_to_key) == ["".join("_" if letter.isspace() else letter for letter in id) for id in ids]
        same(ids, words.vectors, vectors, "word2vec in gensim")
        nearest, similarity = words.most_similar(words.index_to_key[1], topn=1)[0]
        assert -1 <= similarity <= 1.001 and nearest in words

    # The same neighbours, up to the rounding of single precision.
    vectors = left
    table = pd.read_csv("neighbors.csv", dtype={"node": str, "neighbor": str}, keep_default_na=False)
    row = {id: n for n, id in enumerate(ids)}
    nearest = NearestNeighbors(n_neighbors=5, algorithm="brute", metric="cosine").fit(left)
    distances, _ = nearest.kneighbors()
    ours = table["score"].to_numpy().reshape(len(ids), 5)
    assert list(table["node"][::5]) == ids
    assert np.abs(ours - (1 - distances)).max() < 1e-5
    unit = left / np.linalg.norm(left, axis=1, keepdims=True)
    pairs = [(row[a], row[b]) for a, b in zip(table["node"], table["neighbor"])]
    assert np.abs(table["score"] - [unit[a] @ unit[b] for a, b in pairs]).max() < 1e-5


start = os.getcwd()
for folder in sys.argv[1:]:
    os.chdir(os.path.join(start, folder))
    check()

print("numpy pandas polars gensim sklearn")
