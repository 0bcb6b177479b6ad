"""Scripts for those who build Salon."""
