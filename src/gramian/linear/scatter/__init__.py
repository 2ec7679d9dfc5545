"""The scatter matrix of the design columns, in the form that suits its columns."""
