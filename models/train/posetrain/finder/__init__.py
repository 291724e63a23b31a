"""The person finder."""
