"""Models of cores that take part in every clock of a bench, one file for each kind."""
