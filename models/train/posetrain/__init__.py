"""Trains, calibrates, quantises and measures Posewire's image networks."""
