"""Training on one GPU: crops travel in pieces, and everything after that happens on the device."""
