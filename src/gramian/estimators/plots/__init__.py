"""Pictures of fitted models."""
