"""These tests run other tools, which ``make test-integrations`` installs; other calls of pytest do not collect them."""

from __future__ import annotations

import os

collect_ignore_glob = [] if "MOBAI_TOOLS" in os.environ else ["test_*.py"]
