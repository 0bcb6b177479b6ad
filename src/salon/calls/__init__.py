"""One client for every server Salon asks: limits, retries, budget, and answers stored before they are used."""
