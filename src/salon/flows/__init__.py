"""What composes stages: simulated studies and the demo."""
