"""Human poses from a Posewire tracker as ROS 2 messages: `convert` and `stamps` need no ROS, `node` does."""
