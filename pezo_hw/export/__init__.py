"""The hand-over: RTL, wrapper, constraints, scripts and the manifest, in one folder."""
