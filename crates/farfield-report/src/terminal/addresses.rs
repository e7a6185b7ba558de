//! Results by address of the server's, where connections go to several.

use super::{COLUMNS, LABEL, count, labelled, list};
use farfield_measure::{AddressStats, Summary};

/// The line with the requests of each address, those with failures first.
pub(super) fn addresses(summary: &Summary) -> Option<String> {
    let mut all: Vec<&AddressStats> = summary.connections.addresses.iter().collect();
    all.sort_by_key(|own| std::cmp::Reverse(own.failed));
    let requests = |own: &&AddressStats| match own.failed {
        0 => format!("{} {} ok", own.address, count(own.requests)),
        failed => format!("{} {} failed of {}", own.address, count(failed), count(own.requests)),
    };
    let items = all.iter().map(requests).collect();
    (all.len() > 1).then(|| labelled("  addresses", &list(items, COLUMNS - LABEL)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::scene::Scene;
    use crate::{Look, render};

    #[test]
    fn addresses_are_shown_where_they_are_several() {
        let stats = |last: u8, failed| AddressStats {
            address: format!("127.0.0.{last}:80"),
            connections: 10,
            established: 10 - failed,
            requests: 1_000,
            failed,
        };
        let shown = |all: Vec<AddressStats>| {
            let mut scene = Scene::good();
            scene.stats.addresses = all;
            render(&scene.summary(), Look::default())
        };
        let text = shown(vec![stats(2, 0), stats(3, 7)]);
        let line = "\n  addresses 127.0.0.3:80 7 failed of 1,000, 127.0.0.2:80 1,000 ok\n";
        assert!(text.contains(line), "{text}");
        assert!(!shown(vec![stats(2, 0)]).contains("127.0.0.2"), "one says nothing");
        let text = shown((2..20).map(|last| stats(last, 0)).collect());
        assert_eq!(text.matches("  addresses ").count(), 1);
        assert!(text.contains("more"), "{text}");
    }
}
