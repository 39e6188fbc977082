"""Word lists of the perturbations, part of the package: nothing is downloaded."""
