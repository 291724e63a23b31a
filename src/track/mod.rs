//! Who is who, from frame to frame.
