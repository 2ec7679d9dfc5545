"""Models and files: the registry of methods, saving and loading, features of files."""
