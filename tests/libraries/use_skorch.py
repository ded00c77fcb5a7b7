# SPDX-License-Identifier: Apache-2.0
"""Networks as estimators of scikit-learn: fit, predict, pickled, in a search and a pipeline."""
import pickle

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler

from common import show


class Net(torch.nn.Module):
    def __init__(self, hidden=10):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, hidden), torch.nn.Linear(hidden, 2)

    def forward(self, x):
        return self.b(self.a(x).relu()).softmax(-1)


x = np.random.RandomState(0).randn(40, 4).astype("float32")
y = (x[:, 0] > 0).astype("int64")
net = NeuralNetClassifier(Net, max_epochs=4, lr=0.1, verbose=0, iterator_train__shuffle=True, callbacks=[EarlyStopping(), LRScheduler("StepLR", step_size=1), EpochScoring("roc_auc")])
net.fit(x, y)
print([round(e, 4) for e in net.history[:, "train_loss"]])
show("score", net.score(x, y))
again = pickle.loads(pickle.dumps(net))
print(np.allclose(again.predict_proba(x), net.predict_proba(x)))
torch.manual_seed(0)
search = GridSearchCV(NeuralNetClassifier(Net, max_epochs=2, verbose=0, train_split=None), {"lr": [0.01, 0.1], "module__hidden": [5]}, cv=2, scoring="accuracy", refit=False)
search.fit(x, y)
print(search.best_params_)
torch.manual_seed(0)
line = make_pipeline(StandardScaler(), NeuralNetRegressor(torch.nn.Linear, module__in_features=4, module__out_features=1, max_epochs=5, verbose=0, train_split=None))
line.fit(x, x[:, :1] * 2)
show("regressor", line.predict(x)[0, 0])
