"""Objects known by their distances: metrics, double centring, landmarks, classical scaling and discriminant coordinates."""
