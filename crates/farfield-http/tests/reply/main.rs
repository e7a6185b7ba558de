//! The reader of replies, held to one rule above all: however a stream is cut into pieces, it tells the same.

mod corpus;
mod properties;
mod story;
mod table;
