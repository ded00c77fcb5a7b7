# SPDX-License-Identifier: Apache-2.0
"""stateful.py - what save and load take instead of a dict."""
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    def state_dict(self) -> "dict[str, Any]":
        """Its state."""

    def load_state_dict(self, state_dict: "dict[str, Any]") -> None:
        """Takes it."""
