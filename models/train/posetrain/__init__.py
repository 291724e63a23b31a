"""Trains, calibrates, quantises and measures Posewire's networks."""
