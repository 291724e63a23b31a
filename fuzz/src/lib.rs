//! The targets of `posewire-fuzz`, apart from the program: generic parsers are compiled where they are used, so this is compiled
//! to tell what an input reaches, and the fuzzer itself is not.

pub mod targets;
