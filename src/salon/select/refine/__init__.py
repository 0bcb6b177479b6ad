"""The loop: a prompt is drawn, looked at and written anew."""
