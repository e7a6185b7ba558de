//! The virtual user, over an abstract transport.
