"""The command line, `pezo`: one file per sub-command."""
