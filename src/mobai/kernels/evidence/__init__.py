"""What rewards prove: scores of pairs and of limits, and what a sample is expected to add."""
