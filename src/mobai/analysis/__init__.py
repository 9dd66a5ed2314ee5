"""Data that is already there: what a log of observations says, with the guarantee of a live experiment."""
