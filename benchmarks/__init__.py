"""Speed, measured against named peers in the same run: ``make bench``."""
