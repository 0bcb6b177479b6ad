"""Items from prompts: generators behind one interface, and a run that never loses a picture."""
