"""Random and changed programs here and in jaxlib: `python -m support.difftest`."""
