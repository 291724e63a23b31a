//! From pictures to joints: find persons, crop, run the network, decode.
