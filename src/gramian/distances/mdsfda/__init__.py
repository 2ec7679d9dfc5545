"""MDS-FDA: discriminant coordinates from distances, and the classifier in them."""
