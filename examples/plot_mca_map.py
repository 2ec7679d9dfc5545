"""A map of a survey
=================

Draw the levels of a table with categories on one map: multiple correspondence analysis, with a column that takes no part.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gramian as gm

# %%
# A survey of how people travel to work. Two habits lie behind the answers: living in town or outside, and being thrifty
# or not.

rng = np.random.default_rng(0)
n = 3000
town, thrifty = rng.normal(0, 1, (2, n))


def answers(levels, *scores):
    """Return the level with the largest score plus noise, for each person."""
    return np.array(levels)[np.argmax(np.column_stack(scores) + rng.gumbel(0, 0.6, (n, len(levels))), axis=1)]


zero = np.zeros(n)
survey = pd.DataFrame(
    {
        "travel": answers(["car", "train", "bike", "walk"], -town, 0.4 - 0.5 * town, 0.7 * town + 0.5 * thrifty, town),
        "home": answers(["house", "flat", "room"], -town, 0.6 * town, 0.4 * town + thrifty - 0.3),
        "lunch": answers(["brought", "canteen", "restaurant"], thrifty, zero + 0.2, -thrifty),
        "phone": answers(["new", "used"], -thrifty, thrifty),
        "party": answers(["green", "centre", "liberal"], town + 0.4 * thrifty, zero + 0.3, -town - 0.4 * thrifty),
    }
)

# %%
# One pass. ``party`` is a target, so it does not shape the map. It is placed on it afterwards.

moments = gm.collect(survey, targets="party")
model = gm.PCA(2).fit(moments)
print(model.inertia().head(3).round(3).to_string(index=False))

# %%
# Each level is near the people who gave this answer. The contribution says how much of a component a level makes.

levels = model.column_coordinates(["party"])
places = levels.pivot_table(index=["column", "level"], columns="feature", values="coordinate", sort=False).reset_index()
part = levels[levels["column"] != "party"]
for feature, rows in part.groupby("feature"):
    top = rows.nlargest(3, "contribution")
    print(
        feature,
        [f"{c}={level} ({share:.0%})" for c, level, share in top[["column", "level", "contribution"]].to_numpy()],
    )

# %%
# The first component is thrift: restaurants and new phones on the left, lunch from home and used phones on the right.
# The second has the country above and the town below. Voters of ``green`` are near those who cycle.

people = pd.DataFrame(np.asarray(model.transform(survey)), columns=["pca0", "pca1"]) / 2
figure, axes = plt.subplots(figsize=(8, 6.5), layout="constrained")
axes.scatter(people["pca0"], people["pca1"], s=3, color="0.88", label="people")
for k, (column, rows) in enumerate(places.groupby("column", sort=False)):
    extra = column == "party"
    axes.scatter(
        rows["pca0"], rows["pca1"], s=90 if extra else 45, marker="*" if extra else "o", color=f"C{k}", label=column
    )
    shift = (5, -13) if column in ("phone", "party", "home") else (5, 4)
    for _, row in rows.iterrows():
        axes.annotate(row["level"], (row["pca0"], row["pca1"]), xytext=shift, textcoords="offset points", color=f"C{k}")
axes.axhline(0, color="0.8", lw=0.8, zorder=0)
axes.axvline(0, color="0.8", lw=0.8, zorder=0)
axes.set(title="Levels of the survey", xlabel="first component", ylabel="second component", aspect="equal")
axes.legend(loc="upper right")
plt.show()
