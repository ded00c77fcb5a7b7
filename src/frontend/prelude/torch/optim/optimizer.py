# SPDX-License-Identifier: Apache-2.0
"""optimizer.py - Optimizer: parameter groups and state, as PyTorch's optimisers have them. Optimisers of a program's own derive from it and write step()."""
import copy
from collections import OrderedDict, defaultdict
from itertools import chain

from .. import _C
from ..autograd import enable_grad, no_grad

Tensor = _C.Tensor
required = object() # a hyperparameter without a default


class Optimizer:
    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got %s" % params.type())
        self.defaults, self.state, self.param_groups = defaults, defaultdict(dict), []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """One more group of parameters, a dict with "params" and its own hyperparameters."""
        if not isinstance(param_group, dict):
            raise TypeError("param group must be a dict")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change between runs. "
                            "Please use a list instead.")
        params = [params] if isinstance(params, Tensor) else [p[1] if isinstance(p, tuple) and len(p) == 2 else p for p in params]
        known = {id(p) for g in self.param_groups for p in g["params"]}
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is %s" % type(p).__name__)
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
            if getattr(p, '_program', None) is not None: # its weights change from now on
                p._program._record(True)
        group = dict(param_group, params=params)
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError("parameter group didn't specify a value of required optimization parameter %s" % name)
            group.setdefault(name, default)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        for p in chain.from_iterable(g["params"] for g in self.param_groups):
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad = p.grad.detach()
                p.grad.zero_()

    def step(self, closure=None):
        raise NotImplementedError

    @staticmethod
    def _call(closure):
        with enable_grad():
            return closure()

    # ---- state_dict in PyTorch's form: parameters are numbers, in the order of the groups

    def _numbers(self):
        return {id(p): i for i, p in enumerate(chain.from_iterable(g["params"] for g in self.param_groups))}

    def state_dict(self):
        numbers = self._numbers()
        groups = [dict({k: v for k, v in g.items() if k != "params"}, params=[numbers[id(p)] for p in g["params"]]) for g in self.param_groups]
        return {"state": {numbers[id(p)] if isinstance(p, Tensor) else p: s for p, s in self.state.items()}, "param_groups": groups}

    def _check_groups(self, saved):
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, self.param_groups)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")

    def load_state_dict(self, state_dict):
        state_dict = copy.deepcopy(state_dict)
        saved = state_dict["param_groups"]
        self._check_groups(saved)
        params = dict(zip(chain.from_iterable(g["params"] for g in saved), chain.from_iterable(g["params"] for g in self.param_groups)))
        self.state = defaultdict(dict)
        for number, s in state_dict["state"].items():
            self.state[params.get(number, number)] = s
        for group, other in zip(self.param_groups, saved):
            group.update({k: v for k, v in other.items() if k != "params"})

    def __repr__(self):
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] * (i > 0) + ["Parameter Group %d" % i] + ["    %s: %s" % (k, group[k]) for k in sorted(group) if k != "params"]
        return "\n".join(lines) + "\n)"


class NativeOptimizer(Optimizer):
    """An optimiser of the library. param_groups is the users' to change: what changed since is told the library before each step."""

    _name, _pairs, _other = "", {}, {}
    _always, _never = (), () # of the flags that must be off: those that are on, and more of them

    def __init__(self, params, defaults):
        self._native, self._told = None, []
        super().__init__(params, defaults)

    def _numbers_of(self, group):
        """[(name, number)] of a group's hyperparameters, as the library calls them."""
        found = []
        for key in self.defaults:
            v = group[key]
            if key == "weight_decay" and self._decouples(group):
                v = 0.0
            if key in self._pairs:
                found += list(zip(self._pairs[key], (float(x) for x in v)))
            elif key in self._other:
                found += self._other[key](v)
            elif key not in ("foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay") + self._never:
                found.append((key, float(v)))
        return found

    def _decouples(self, group):
        """Whether the decay of weights is not part of the gradients, and not the library's either."""
        return group.get("decoupled_weight_decay", False) and "decoupled_weight_decay" not in self._always

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        try:
            for key in ("capturable", "differentiable") + self._never:
                if group.get(key) and key not in self._always:
                    raise NotImplementedError("%s(%s=True) is not supported" % (type(self).__name__, key))
            settings = self._numbers_of(group)
            if self._native is None:
                self._native = _C.Optimizer(self._name, group["params"], settings)
            else:
                self._native.add_group(group["params"], settings)
        except BaseException:
            self.param_groups.pop()
            raise
        self._told.append(settings)

    def _tell(self):
        if len(self._told) != len(self.param_groups):
            raise RuntimeError("groups of parameters are added by add_param_group")
        for i, group in enumerate(self.param_groups):
            now = self._numbers_of(group)
            if now != self._told[i]:
                before = dict(self._told[i])
                for name, v in now:
                    if before.get(name) != v:
                        self._native.set(i, name, v)
                self._told[i] = now

    def zero_grad(self, set_to_none=True):
        if set_to_none:
            self._native.zero_grad()
        else:
            super().zero_grad(False)

    def step(self, closure=None):
        """One pass over all parameters that have gradients. closure: computes the loss and its gradients anew; what it returns, is returned."""
        self._tell()
        loss = self._call(closure) if closure is not None else None
        for group in self.param_groups:
            if self._decouples(group) and group["weight_decay"]:
                with no_grad():
                    for p in group["params"]:
                        if p.grad is not None:
                            p.mul_(1 - group["lr"] * group["weight_decay"])
        self._native.step(None)
        return loss

    # ---- state

    def _kept(self):
        """What the library keeps; of parameters that are parts of larger tensors, their state is too."""
        kept = self._native.state() if self._native is not None else {"state": {}}
        for i, p in enumerate(chain.from_iterable(g["params"] for g in self.param_groups)):
            if hasattr(p, "_part_of_same") and i in kept["state"]:
                kept["state"][i] = {k: p._part_of_same(v) for k, v in kept["state"][i].items()}
        return kept

    @property
    def state(self):
        """State by parameter: a copy of the dicts, whose tensors are the optimiser's."""
        params = list(chain.from_iterable(g["params"] for g in self.param_groups))
        return defaultdict(dict, {params[i]: s for i, s in self._kept()["state"].items()})

    @state.setter
    def state(self, value):
        if value:
            raise AttributeError("the state is changed by load_state_dict")

    def state_dict(self):
        self._tell()
        kept = self._kept()
        groups, first = [], 0
        for own, group in zip(kept["param_groups"], self.param_groups):
            merged = dict(own)
            merged.update({k: v for k, v in group.items() if k != "params"})
            merged["params"] = list(range(first, first + len(group["params"])))
            first += len(group["params"])
            groups.append(merged)
        return {"state": kept["state"], "param_groups": groups}

    def load_state_dict(self, state_dict):
        self._check_groups(state_dict["param_groups"])
        self._native.load_state(_plain(state_dict))
        for i, (group, other) in enumerate(zip(self.param_groups, state_dict["param_groups"])):
            group.update({k: v for k, v in other.items() if k != "params"})
            self._told[i] = self._numbers_of(group)

    def __getstate__(self):
        return {"param_groups": self.param_groups, "defaults": self.defaults, "state": self._kept()}

    def __setstate__(self, kept):
        self.__dict__.update({"_native": None, "_told": [], "param_groups": [], "defaults": kept["defaults"]})
        for group in kept["param_groups"]:
            self.add_param_group(group)
        self._native.load_state(_plain(kept["state"]))


def _plain(x):
    """Dicts and lists of the library's kinds: what it does not look at is left out."""
    if isinstance(x, (dict, OrderedDict)):
        return {k: _plain(v) for k, v in x.items() if v is None or isinstance(v, (bool, int, float, str, Tensor, list, tuple, dict))}
    if isinstance(x, (list, tuple)):
        return type(x)(_plain(v) for v in x)
    return x
