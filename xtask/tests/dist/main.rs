//! A release, packaged from the program that the tests have built, installed as people install it into roots
//! with nothing but what the packages say that they need, and run there.

mod pipelines;
mod release;
mod root;
mod script;
mod systems;
