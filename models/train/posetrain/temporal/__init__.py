"""The temporal model: motion, detectors' errors, training, export."""
