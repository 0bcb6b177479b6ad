"""Ask models which picture is better, under one protocol for all of them."""
