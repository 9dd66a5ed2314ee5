"""The mathematics: observations, lower bound and oracle weights, surrogate program, thresholds, intervals."""
