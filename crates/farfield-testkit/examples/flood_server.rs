//! A server that floods, as a process: `flood_server NAME [ADDRESS]` says `flooding URL` and goes on until it
//! is ended. Without a name it lists them.

use farfield_testkit::floods::{ALL, FloodServer};
use std::io::Write;

fn main() -> std::io::Result<()> {
    let mut words = std::env::args().skip(1);
    let Some(name) = words.next() else {
        for (name, protocol, _) in ALL {
            println!("{name} {} {}", if protocol.is_secure() { "https" } else { "http" }, protocol.version());
        }
        return Ok(());
    };
    let address = words.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let server = FloodServer::start(&name, &address)?;
    println!("flooding {}", server.url());
    std::io::stdout().flush()?;
    loop {
        std::thread::park();
    }
}
