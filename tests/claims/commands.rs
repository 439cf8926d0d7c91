//! The command line around the operations.
