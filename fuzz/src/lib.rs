//! Properties of logs and sites, which the crates' own tests check, too; those of other crates are in farfield-testkit.

#[path = "../../crates/farfield-traffic/tests/logs/laws.rs"]
pub mod logs;
#[path = "../../crates/farfield-traffic/tests/sites/laws.rs"]
pub mod sites;
