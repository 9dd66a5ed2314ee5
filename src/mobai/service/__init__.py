"""The service: experiments over HTTP, for any number of clients. No statistics and no SQL: it calls ``Experiment``."""
