# %% [markdown]
# # Handwritten digits: 45 small problems that share what they learn
#
# Ten classes are 45 pairs of classes: "0 or 1?", "0 or 2?" and so on. Each pair is a **task**: a small problem with two answers and an SVM
# of its own. A **kernel** says how alike two images are; each task learns a mix of ten given ones. With few images per digit, a mix that is
# learnt from one pair alone is a guess. So tasks are drawn together: those that want nearly the same mix share exactly one.

# %%
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import coterie

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=300, stratify=y, random_state=0)
print(f"{len(X_train)} images to learn from, {len(X_test)} to test on, {X.shape[1]} numbers each")

# %% [markdown]
# A `CoterieClassifier` is used as any classifier of scikit-learn. `lam` says how strongly tasks are drawn together, here as a share of the
# smallest value for which all tasks have the same kernel.

# %%
model = coterie.CoterieClassifier(C=10, lam="0.1max").fit(X_train, y_train)
print(f"{model.score(X_test, y_test):.4f} of the test images are labelled right")
print(f"an SVM with its default Gaussian: {SVC(C=10).fit(X_train, y_train).score(X_test, y_test):.4f}")

# %% [markdown]
# What was learnt: the weights of the kernels in every task, and which tasks share them.

# %%
sizes = [len(group) for group in model.groups_]
print(f"{len(model.tasks_)} tasks in {len(sizes)} groups, the largest of {sizes[0]}")
mean = model.kernel_weights_.mean(axis=0)
for m in np.argsort(-mean)[:3]:
    print(f"{model.kernel_names_[m]:10s} {mean[m]:.2f} of the weight, in the mean over tasks")

# %% [markdown]
# Every answer carries a certificate: how far its objective can be from the optimum. Anyone who has the data can check it, by code that
# shares nothing with the solver.

# %%
proof = model.certificate_
print(f"within {proof.gap:.0e} of the optimum, relative: {proof.gap < model.tol}")
print(f"recomputed from the images, it holds: {model.verify(X_train, y_train).holds}")

# %% [markdown]
# Which `C` and `lam`? `CoterieClassifierCV` tries a grid by cross-validation. Kernels are computed once for all folds, and each fit begins
# where its neighbour ended, so 75 fits of 45 tasks take a second or two.

# %%
search = coterie.CoterieClassifierCV(n_jobs=-1).fit(X_train, y_train)
print("chosen:", {name: search.best_params_[name] for name in ("C", "lam")})
print(f"right answers over folds and pairs of digits: {search.best_score_:.4f}; on the test images {search.score(X_test, y_test):.4f}")

# %%
axes = coterie.plot_grid(search)
_ = axes.set_title("right answers, over folds and pairs of digits")

# %% [markdown]
# A model goes to a file that the program `coterie` reads too, and back.

# %%
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "digits.h5")
    loaded = coterie.load(Path(folder) / "digits.h5")
print("the same answers:", (loaded.predict(X_test) == model.predict(X_test)).all())
