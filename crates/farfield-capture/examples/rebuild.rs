//! Rebuilds a capture and prints what it holds, a line for each kind; with `--all`, every connection and
//! transaction too; with `--keys=FILE`, TLS and QUIC by that key log. `time` around it measures how fast
//! captures are read.

use farfield_capture::{Connection, Options, Secrets, Sink, Transaction, TransactionState, read_into};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

#[derive(Default)]
struct Counted {
    all: bool,
    connections: u64,
    transactions: BTreeMap<TransactionState, u64>,
}

impl Sink for Counted {
    fn connection(&mut self, connection: Connection) {
        self.connections += 1;
        if self.all {
            println!("{connection:?}");
        }
    }

    fn transaction(&mut self, transaction: Transaction) {
        *self.transactions.entry(transaction.state).or_default() += 1;
        if self.all {
            println!("{transaction:?}");
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut counted = Counted { all: args.iter().any(|arg| arg == "--all"), ..Counted::default() };
    let mut options = Options::default();
    if let Some(keys) = args.iter().find_map(|arg| arg.strip_prefix("--keys=")) {
        options.secrets = Some(Arc::new(Secrets::read(BufReader::new(File::open(keys)?))?));
    }
    args.retain(|arg| !arg.starts_with("--"));
    let [path] = &args[..] else { return Err("usage: rebuild [--all] [--keys=FILE] FILE".into()) };
    let limits = read_into(File::open(path)?, &options, &mut counted)?;
    println!("connections: {}", counted.connections);
    for (state, count) in counted.transactions {
        println!("transactions, {}: {count}", state.name());
    }
    println!("{limits:#?}");
    Ok(())
}
