"""The sampling rules as compiled loops, one file each."""
