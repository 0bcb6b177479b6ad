"""The demo: all eight stages from one command."""
