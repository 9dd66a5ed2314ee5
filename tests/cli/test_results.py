"""``mobai analyse --items``: tables and results of evaluations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import run
