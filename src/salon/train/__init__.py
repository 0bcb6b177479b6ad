"""Learn what people prefer: heads on frozen encoders, reward models with uncertainty, and what both are worth."""
