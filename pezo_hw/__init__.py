"""Generator of hardware random perturbations for zeroth-order training."""

__version__ = "0.1.0"
