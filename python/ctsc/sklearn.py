# SPDX-License-Identifier: Apache-2.0
"""sklearn.py - trained programs as steps of scikit-learn's pipelines. Import it where scikit-learn is: from ctsc.sklearn import Transformer, Classifier.

model is a ScriptModule, an nn.Module, a function of a tensor, or the path of a program, which then travels to other processes as that path.
"""
import os

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from . import _C
from ._functions import from_numpy
from ._module import mapped
from .autograd import no_grad


class _Program(BaseEstimator):
    def __init__(self, model, batch_size=256, dtype="float32", sizes=None):
        self.model, self.batch_size, self.dtype, self.sizes = model, batch_size, dtype, sizes

    def fit(self, X=None, y=None):
        """There is nothing to learn; a classifier takes note of the classes, in order, that its scores belong to."""
        self.fitted_ = True
        if y is not None:
            self.classes_ = np.unique(y)
        return self

    def __sklearn_is_fitted__(self):
        return True

    def _scores(self, X):
        """What the program returns for the rows of X, each reshaped to `sizes`."""
        X = np.ascontiguousarray(X, dtype=self.dtype)
        if self.sizes is not None:
            X = X.reshape((len(X),) + tuple(self.sizes))
        program = mapped(self.model) if isinstance(self.model, (str, os.PathLike)) else self.model
        parts = []
        with no_grad():
            for i in range(0, max(len(X), 1), self.batch_size):
                out = program(from_numpy(X[i:i + self.batch_size]))
                out = out[0] if isinstance(out, (tuple, list)) else out
                if not isinstance(out, _C.Tensor):
                    raise TypeError("the program must give a tensor, not %s" % type(out).__name__)
                parts.append(out.numpy())
        return np.concatenate(parts)


class Transformer(TransformerMixin, _Program):
    """transform: the program's result, a row for each row."""

    def transform(self, X):
        out = self._scores(X)
        return out.reshape(len(out), -1)


class Classifier(ClassifierMixin, _Program):
    """The program's results are scores of the classes."""

    def decision_function(self, X):
        return self._scores(X)

    def predict_proba(self, X):
        scores = self._scores(X)
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def predict(self, X):
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best] if hasattr(self, "classes_") else best
