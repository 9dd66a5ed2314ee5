"""What is kept of rewards, in the arrays that every kernel reads."""
