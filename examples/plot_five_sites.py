"""Five sites, one model
=====================

Five hospitals that share moments but no rows: one model of all of them, as if their rows were in one table.

Moments are sums over rows, so the moments of five sites add up to the moments of all. Each site collects its own, sends one
file, and keeps its rows. The model is the same as that of the pooled table, up to the last digits. This includes
cross-validation: the fold of a patient is a hash of the patient's number, which is the same at every site.

A moments file is small, but it is not anonymous: it holds every label and every pair count, including counts of one. Leave out
columns that identify people (`exclude=`), and pool rare levels before you send a file (`pool(min_count=...)`).
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

import gramian as gm

# %%
# Five sites with different numbers of patients. One site has a ward that no other site has.

rng = np.random.default_rng(1)
folder = Path(tempfile.mkdtemp())


def patients(site, n):
    """Return the stays of one site; some patients have several."""
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
# In the centre: load five files, add them, and fit any method. A site that joins later takes its columns and kinds from
# the others, with `like="site0.moments"`.

files = sorted(folder.glob("*.moments"))
sites = [gm.Moments.load(path) for path in files]
everyone = gm.merge(sites)
model = gm.MahalanobisFeatures(1, ridge="cv").fit(everyone, "again")
print(f"{everyone.n_rows} rows of {len(sites)} sites from {sum(path.stat().st_size for path in files) / 1e3:.0f} kB")

# %%
# The result is the same as with all rows in one table.

together = gm.collect(pa.concat_tables(rows), exclude="patient", targets="again", folds=5, fold_by="patient")
assert everyone.isclose(together)
pooled = gm.MahalanobisFeatures(1, ridge="cv").fit(together, "again")
np.testing.assert_allclose(model.transform(rows[0]), pooled.transform(rows[0]), rtol=1e-9)
print("the features are equal to those of the pooled table")

# %%
# If a site withdraws, its moments are subtracted. The plot shows how each site changes the weights, in units
# of one standard deviation of a column.

names = [f"without site {site}" for site in range(5)]
left = [gm.MahalanobisFeatures(1, ridge="cv").fit(everyone - site, "again") for site in sites]
spread = dict(zip(model.design_names_, np.sqrt(np.diag(everyone.covariance(["age", "ward", "pressure"]))), strict=True))
place = {name: k for k, name in enumerate(model.design_names_)}
fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for k, (name, each) in enumerate(zip(["all five", *names], [model, *left], strict=True)):
    # Without site 3 there are no rows of its ward.
    x = [place[column] + 0.1 * (k - 2.5) for column in each.design_names_]
    weights = np.ravel(each.components_) * [spread[column] for column in each.design_names_]
    axes.plot(x, weights, marker="D" if k == 0 else "o", markersize=5, linestyle="none", label=name)
axes.axhline(0, color="0.7", linewidth=0.8)
axes.set_xticks(range(len(place)), place)
axes.set(ylabel="weight per standard deviation", title="Who comes back: weights with and without each site")
axes.legend(ncols=2)
plt.show()
