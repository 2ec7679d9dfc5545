"""Five hospitals that share moments and no row: the model of all of them, as if their rows had lain in one table.

Moments are sums over rows, so those of five sites add up to those of all. Each site collects its own, sends one file, and
keeps its rows. What comes back is the same model that the pooled table would give, to the last digits, cross-validation
included: the fold of a patient is a hash of the patient's number, the same at every site.

A moments file is small, and it is not anonymous: it holds every label and every count of a pair, ones included. Leave columns
that identify people out (`exclude=`), and pool rare levels before a file leaves the house (`pool(min_count=...)`).
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

import gramian as gm

# %%
# Five sites of different sizes and different patients; one of them has a ward that no other has.

rng = np.random.default_rng(1)
folder = Path(tempfile.mkdtemp())


def patients(site, n):
    """Return the stays of one site, some patients with several."""
    age = rng.normal(50 + 4 * site, 15, n)
    ward = rng.choice(["heart", "lung", "bone", *(["burns"] if site == 3 else [])], n)
    pressure = rng.normal(120 + 0.3 * (age - 50), 12, n)
    again = rng.random(n) < 1 / (1 + np.exp(4 - 0.04 * age - 1.5 * (ward == "lung")))
    return pa.table(
        {
            "patient": [f"{site}-{k:05d}" for k in rng.integers(n, size=n)],
            "age": age,
            "ward": ward,
            "pressure": pa.array(pressure, mask=rng.random(n) < 0.05),
            "again": np.where(again, "yes", "no"),
        }
    )


rows = [patients(site, n) for site, n in enumerate((4000, 900, 2500, 1200, 300))]

# %%
# At each site: one pass, one file.

for site, table in enumerate(rows):
    moments = gm.collect(table, exclude="patient", targets="again", folds=5, fold_by="patient")
    moments.save(folder / f"site{site}.moments", metadata={"site": str(site)})

# %%
# In the middle: five files, their sum, and any method on it. A site that joins later takes its columns and kinds from the
# others, with `like="site0.moments"`.

files = sorted(folder.glob("*.moments"))
sites = [gm.Moments.load(path) for path in files]
everyone = gm.merge(sites)
model = gm.MahalanobisFeatures(1, ridge="cv").fit(everyone, "again")
print(f"{everyone.n_rows} rows of {len(sites)} sites from {sum(path.stat().st_size for path in files) / 1e3:.0f} kB")

# %%
# The same as with all rows in one place.

together = gm.collect(pa.concat_tables(rows), exclude="patient", targets="again", folds=5, fold_by="patient")
assert everyone.isclose(together)
pooled = gm.MahalanobisFeatures(1, ridge="cv").fit(together, "again")
np.testing.assert_allclose(model.transform(rows[0]), pooled.transform(rows[0]), rtol=1e-9)
print("the features are those of the pooled table")

# %%
# A site that withdraws is taken away again, and its share of the result is seen at once.

names = [f"without site {site}" for site in range(5)]
left = [gm.MahalanobisFeatures(1, ridge="cv").fit(everyone - site, "again") for site in sites]
fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for name, each in zip(["all five", *names], [model, *left], strict=True):
    # Without site 3 nobody has seen its ward.
    axes.plot(each.design_names_, np.ravel(each.components_), marker="o", linestyle="none", label=name)
axes.set(ylabel="weight", title="Who comes back: weights with and without each site")
axes.legend()
plt.show()
