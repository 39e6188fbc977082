"""Two very small models that ship with the package, and the script that trains them."""
