"""Training with zeroth-order steps: data sets, models and the host's part of a step."""
