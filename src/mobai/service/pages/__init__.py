"""Pages for people: server-rendered, nothing from another origin."""
