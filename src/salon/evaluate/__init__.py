"""Anything that answers, against people: judges, scorers and models; accuracy, bias, ceilings, calibration."""
