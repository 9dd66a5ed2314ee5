"""The mathematics: lower bound and oracle weights, surrogate program, GLR statistic, thresholds."""
