//! Placeholder for the crate's documentation.
