//! All fuzz targets as one program, which `cargo xtask fuzz` builds and runs: one set of counters is linked
//! once, where a program for each target takes minutes more.
//!
//! The variable `FARFIELD_FUZZ_TARGET` names the target; without it, the program prints all of them, a line
//! of name and description each. The properties are those that ordinary tests check on the same corpus.

#![no_main]

use farfield_testkit::corpus::Property;
use farfield_testkit::targets::TARGETS;
use std::panic;
use std::process;
use std::sync::{Mutex, OnceLock};

static PROPERTY: OnceLock<Property> = OnceLock::new();
/// The words of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

libfuzzer_sys::fuzz_target!(init: choose(), |input: &[u8]| {
    if let Some(property) = PROPERTY.get()
        && panic::catch_unwind(|| property(input)).is_err()
    {
        eprintln!("{}", PANIC.lock().map(|words| words.clone()).unwrap_or_default());
        process::abort();
    }
});

/// Chooses the target that the variable names, or prints them all and ends the program.
fn choose() {
    let Ok(name) = std::env::var("FARFIELD_FUZZ_TARGET") else {
        TARGETS.iter().for_each(|target| println!("{}\t{}", target.name, target.about));
        process::exit(0);
    };
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
        eprintln!("FARFIELD_FUZZ_TARGET: there is no target {name:?}");
        process::exit(2);
    };
    PROPERTY.get_or_init(|| target.property);
    // libFuzzer's hook ends the program at any panic, but what reads Parquet catches those of its decoders.
    // Only one that leaves the property is a find.
    panic::set_hook(Box::new(|panic| {
        if let Ok(mut words) = PANIC.lock() {
            *words = panic.to_string();
        }
    }));
}
