"""The painters: marks become pixels, PNG and SVG. The only part of the renderer that knows a drawing library."""
