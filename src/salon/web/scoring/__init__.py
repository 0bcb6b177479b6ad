"""The scoring service over HTTP: pictures in, numbers with their versions out."""
