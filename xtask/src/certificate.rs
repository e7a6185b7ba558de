//! Certificates of servers in benches and experiments.

use crate::{process, system};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// The file of a server's certificate, in its home.
pub const CERTIFICATE: &str = "certificate.pem";
/// That of the key.
pub const KEY: &str = "key.pem";

/// Makes a key (ECDSA, P-256) and a certificate for `name` that it signs itself, in `folder`.
pub fn make(folder: &Path, name: &str) -> Result<()> {
    let openssl = system::find("openssl").context("openssl is missing, which makes the certificate")?;
    let mut command = Command::new(openssl);
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]);
    command.args(["-days", "30", "-subj", &format!("/CN={name}")]);
    command.args(["-addext", &format!("subjectAltName=DNS:{name}")]);
    command.arg("-keyout").arg(folder.join(KEY)).arg("-out").arg(folder.join(CERTIFICATE));
    process::output(&mut command).map(drop)
}
