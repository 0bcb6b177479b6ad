"""Studies whose truth is known: simulated raters, the shapes of published studies, posters drawn for them."""
