"""Type: the catalogue of typefaces, shaping, line breaking, and text set into a frame with exact boxes of ink."""
