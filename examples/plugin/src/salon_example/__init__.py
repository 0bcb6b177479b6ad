"""One plugin of each kind for Salon."""
