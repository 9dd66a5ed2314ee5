"""The instance that rules are tried on."""

from __future__ import annotations

from mobai import Instance

FOUR_ARMS = Instance([[1.0, 0.2], [0.3, 0.9], [0.6, 0.5], [0.1, 0.4]])
