"""The paper's instances (tables and figures will join them)."""
