"""Models of rewards: what each has to say about an arm, a pair of arms and a limit, and one dispatch over them."""
