# %% [markdown]
# # Twelve sites with little data each
#
# Every site asks the same question ("will this machine fail?") of the same columns, but sites differ in what the answer depends on. Here they
# are made up so that we know the truth: sites 1, 4, 7 and 10 look at the first four columns, 2, 5, 8 and 11 at the next four, the others
# at the last four. Nobody tells coterie.

# %%
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score

import coterie

X, y, sites, truth = coterie.plant_groups(tasks=12, groups=3, samples=60, noise=0.05, random_state=3)
table = pd.DataFrame(X, columns=[f"f{j}" for j in range(1, 13)]).assign(site=sites)
print(table.shape, "rows and columns;", table["site"].nunique(), "sites")

# %% [markdown]
# The data is in *long form*: one table, a row per sample, and a column that names the task of every row. `task_column` says which. The column
# travels with the rows through everything that scikit-learn does: folds, pipelines, searches.

# %%
folds = coterie.TaskStratifiedKFold(5, task_column="site", shuffle=True, random_state=0)
blocks = "linear@f1-f4 linear@f5-f8 linear@f9-f12 gauss:2@f1-f4 gauss:2@f5-f8 gauss:2@f9-f12"
kinds = {
    "one SVM for all": coterie.CoterieClassifier(kernels=blocks, method="pooled", task_column="site"),
    "one for each site": coterie.CoterieClassifier(kernels=blocks, lam=0, task_column="site"),
    "drawn together": coterie.CoterieClassifier(kernels=blocks, lam="0.5max", task_column="site"),
}
for name, model in kinds.items():
    print(f"{name:18s} {cross_val_score(model, table, y, cv=folds).mean():.3f} right")

# %% [markdown]
# One SVM for all cannot answer twelve different questions. Here a site has rows enough to find its own kernel, so being drawn together does not
# raise the share of right answers; what it adds is an answer to another question: which sites are alike?

# %%
model = coterie.CoterieClassifier(kernels=blocks, lam="0.5max", task_column="site").fit(table, y)
for group in model.groups_:
    print(", ".join(group), "-> planted group", sorted({int(truth[int(name[1:]) - 1]) for name in group}))

# %% [markdown]
# `lam` decides how many groups there are. The *path* has the optimum for every `lam`, and the tree of which sites join when.

# %%
path = coterie.path(table, y, task_column="site", kernels=blocks)
print(f"{len(path.lam)} points; where there are three groups they are {path.groups_at(3)}")
_ = coterie.plot_tree(path)

# %%
_ = coterie.plot_affinity(path)

# %% [markdown]
# The kernel of one site against another, a colour for each group: sites of a group stand in one place, because they share every weight.

# %%
_ = coterie.plot_weight_plane(model, "linear@f1-f4", "gauss:2@f5-f8")

# %% [markdown]
# A new site can join a model that is there. `extend` leaves the model's own sites as they are, to the last bit; `lam` says how strongly the new
# one is drawn to them. A site without any labelled rows is scored by the mean of others, as `new_task` says.

# %%
new = table["site"] == "t10"
model = coterie.CoterieClassifier(kernels=blocks, lam="0.5max", task_column="site").fit(table[~new], y[~new])
known, rest = table[new].index[:30], table[new].index[30:]
print(f"without labels: {model.set_params(new_task='common').score(table.loc[rest], y[rest]):.2f} right")
model.set_params(new_task="error").extend(table.loc[known], y[known], lam=1)
print(f"with {len(known)} labelled rows: {model.score(table.loc[rest], y[rest]):.2f} right")
print("it shares the kernel of", next(group for group in model.groups_ if "t10" in group))
print("its certificate holds:", model.verify(table.loc[known], y[known]).holds)
