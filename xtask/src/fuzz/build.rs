//! The build of the fuzzer's program.

use anyhow::{Context, Result, bail};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtask::process;

/// The instrumentation that libFuzzer reads: a counter for each edge, and the operands of comparisons. The
/// flags go to all crates; those of build scripts and macros are left out by naming the platform.
const FLAGS: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Builds the program with the nightly compiler, and returns where it is.
pub fn build() -> Result<PathBuf> {
    let platform = platform(&nightly(&["rustc", "+nightly", "-vV"])?)?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let folder = std::path::absolute(target)?.join("fuzz");
    // The proxy: the cargo that runs this belongs to the stable compiler.
    let mut command = Command::new("cargo");
    for inherited in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN", "CARGO_ENCODED_RUSTFLAGS"] {
        command.env_remove(inherited);
    }
    command
        .env("RUSTFLAGS", FLAGS.join(" "))
        .args(["+nightly", "build", "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml"])
        .args(["--target", &platform, "--target-dir"])
        .arg(&folder);
    process::run(&mut command)?;
    Ok(folder.join(platform).join("release").join("farfield-fuzz"))
}

/// The folder of the build to which `program` belongs.
pub fn folder(program: &Path) -> Result<&Path> {
    program.ancestors().nth(3).context("the program lies in no build folder")
}

/// The output of a command of the nightly compiler.
fn nightly(words: &[&str]) -> Result<String> {
    let output = Command::new(words[0])
        .args(&words[1..])
        .env_remove("RUSTUP_TOOLCHAIN")
        .stderr(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        _ => bail!(
            "fuzzing needs a nightly compiler, for its instrumentation: `rustup toolchain install nightly \
             --profile minimal`; the ordinary tests check the same properties on the corpus without it"
        ),
    }
}

/// The platform that the compiler says to be for.
fn platform(said: &str) -> Result<String> {
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc +nightly -vV` names no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_platform_is_the_compilers() {
        let said = "rustc 1.97.0-nightly\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n";
        assert_eq!(platform(said).unwrap(), "x86_64-unknown-linux-gnu");
        assert!(platform("rustc").is_err());
    }

    #[test]
    fn without_a_nightly_compiler_it_is_said_what_to_do() {
        let error = nightly(&["/nonexistent/rustc", "+nightly", "-vV"]).unwrap_err().to_string();
        assert!(error.contains("rustup toolchain install nightly"), "{error}");
        assert!(nightly(&["false"]).is_err());
    }

    #[test]
    fn a_program_knows_its_build_folder() {
        let program = Path::new("/t/fuzz/x86_64-unknown-linux-gnu/release/farfield-fuzz");
        assert_eq!(folder(program).unwrap(), Path::new("/t/fuzz"));
    }
}
