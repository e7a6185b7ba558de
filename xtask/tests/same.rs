//! The samples of 48 scenarios in virtual time are those that are kept, byte for byte.

use xtask::{process, same, task};

#[test]
fn samples_are_those_that_are_kept() {
    task::enter_repository().unwrap();
    process::run(process::cargo().args(["build", "--workspace", "--bin", "farfield"])).unwrap();
    // This test lies in `debug/deps`.
    let farfield = process::builds().unwrap().with_file_name("debug").join("farfield");
    let differ = same::different(&same::digests(&farfield).unwrap(), &same::kept().unwrap());
    assert!(
        differ.is_empty(),
        "scenarios with other samples than are kept: {differ:#?}; `cargo xtask same --keep {}` keeps them, if the change \
         means to",
        farfield.display()
    );
}
