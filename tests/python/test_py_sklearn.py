# SPDX-License-Identifier: Apache-2.0
"""test_py_sklearn.py - programs as steps of scikit-learn's pipelines, where that is installed."""
import os
import pickle

import pytest

import ctsc
from ctsc import nn

np = pytest.importorskip("numpy")
sklearn = pytest.importorskip("sklearn")


def test_pipelines(root):
    from ctsc.sklearn import Classifier, Transformer
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    path = os.path.join(root, "models", "digits_cnn.pt")
    images, labels = ctsc.load(os.path.join(root, "models", "digits_test.pt"))[0], ctsc.load(os.path.join(root, "models", "digits_labels.pt")).numpy()
    X = images.numpy().reshape(len(labels), -1)
    for model in (path, ctsc.load(path), pickle.loads(pickle.dumps(Classifier(path))).model):
        whole = Classifier(model, sizes=(1, 8, 8), batch_size=100)
        assert clone(whole).fit(X, labels).score(X, labels) > 0.99
    assert (whole.predict(X) == labels).mean() > 0.99 and abs(whole.predict_proba(X[:3]).sum() - 3) < 1e-4
    pipeline = make_pipeline(Transformer(path, sizes=(1, 8, 8)), StandardScaler(), LogisticRegression(max_iter=500))
    assert pipeline.fit(X, labels).score(X, labels) > 0.99
    assert cross_val_score(pipeline, X, labels, cv=3, n_jobs=2).min() > 0.9
    net = nn.Sequential(nn.Linear(64, 5), nn.ReLU())
    assert Transformer(net).fit_transform(X).shape == (len(X), 5)
    with pytest.raises(TypeError, match="must give a tensor"):
        Transformer(lambda t: "text").transform(X)
