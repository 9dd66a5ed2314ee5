"""Journals and the storages that keep them; nothing here knows what an arm is."""
