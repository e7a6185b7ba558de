//! The flags of `farfield import`.

use clap::{Args, ValueHint};
use farfield_import::DocumentKind;
use std::path::PathBuf;

/// `farfield import`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfield import session.har -o session.toml\n  \
    farfield import shop.postman_collection.json --value baseUrl=http://127.0.0.1:8080 -o shop.toml\n  \
    farfield import openapi.yaml --target http://127.0.0.1:8080/ | farfield try /dev/stdin\n  \
    farfield import plan.jmx -o plan.toml && farfield run plan.toml\n  \
    farfield import 'curl -X POST http://127.0.0.1:8080/order' -o order.toml\n  \
    farfield import -o order.toml -- curl -X POST http://127.0.0.1:8080/order --json '{\"item\": 1}'")]
pub struct ImportFlags {
    /// A file of curl commands, a HAR file, an OpenAPI document, a Postman collection or a JMeter plan; a
    /// curl command itself, in quotes; - is standard input. A command behind -- if absent
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "command", conflicts_with = "command")]
    pub file: Option<String>,
    /// Kind of the file: curl, har, openapi, postman or jmeter; by its content if absent
    #[arg(long, value_name = "KIND")]
    pub from: Option<DocumentKind>,
    /// Write the scenario to FILE; to standard output if absent
    #[arg(short = 'o', long, visible_alias = "output", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// URL of the server to ask, and whose entries are taken; by default that of most entries
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// URL of a server whose entries are taken along, as a host of the scenario. May be repeated
    #[arg(long = "host", value_name = "URL")]
    pub hosts: Vec<String>,
    /// Value of a variable of a collection, a plan or a command, or of a parameter or a security scheme of an
    /// OpenAPI document; '${env.NAME}' reads it from the environment when the scenario runs. May be repeated
    #[arg(long = "value", value_name = "NAME=VALUE", value_parser = value)]
    pub values: Vec<(String, String)>,
    /// Also ask for operations of an OpenAPI document that are no GET, which may change what the server
    /// stores
    #[arg(long)]
    pub all_methods: bool,
    /// Take values of a HAR file that a reply contains and a later request repeats, such as tokens, from the
    /// reply, and leave recorded cookies that the server sets to the users; else they are only named
    #[arg(long)]
    pub bind: bool,
    /// A curl command, as it would be typed or, in quotes, as it was pasted; FILE if absent
    #[arg(last = true, value_name = "curl …")]
    pub command: Vec<String>,
}

fn value(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or("write NAME=VALUE, such as baseUrl=http://127.0.0.1:8080")?;
    match name.is_empty() {
        true => Err("write a name before the `=`".to_owned()),
        false => Ok((name.to_owned(), value.to_owned())),
    }
}
