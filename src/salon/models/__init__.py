"""Networks that look at pictures and read text: encoders, OCR, saliency, VLMs."""
