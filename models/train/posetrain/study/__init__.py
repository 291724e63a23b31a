"""Sequence models side by side on poses: the same data, losses and number of steps for all."""
