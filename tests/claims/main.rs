//! What keysweep claims, each claim shown against the real thing.
