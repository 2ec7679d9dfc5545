"""The tests, as a package: another distribution may install a package of the same name."""
