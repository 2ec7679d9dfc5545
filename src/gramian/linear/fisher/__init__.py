"""Fisher's discriminant: class moments, the within-class inverse, shrinkage, the criterion."""
