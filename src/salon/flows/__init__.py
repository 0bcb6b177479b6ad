"""What composes stages, in a folder for each thing that is done with them."""
