"""The keypoint network: codec, structure, training, int8, scores, measurement."""
