"""The surrogate program, solved exactly, and the oracle weights."""
