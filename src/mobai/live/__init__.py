"""Live experiments: a journal of events is the truth, the state is a fold of it."""
