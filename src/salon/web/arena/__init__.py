"""The public arena in the browser: strangers compare pictures, learn who made them, and see the board."""
