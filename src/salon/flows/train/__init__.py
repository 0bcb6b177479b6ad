"""From a study to a trained model, and what the model is worth."""
