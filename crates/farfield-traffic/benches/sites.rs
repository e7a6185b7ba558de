//! Pages and requests a second that each order makes on one core, drawn and thrown away, and what a site
//! takes to generate: `cargo bench -p farfield-traffic --bench sites`.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use farfield_base::random::{Purpose, Seed};
use farfield_traffic::request::{Order, RequestSetSpec, SiteSource};
use farfield_traffic::site::Preset;
use std::hint::black_box;
use std::time::Instant;

const PAGES: u64 = 2_000_000;

fn main() {
    for preset in Preset::ALL {
        let begun = Instant::now();
        let site = preset.model().generate(Seed(1)).expect("a site");
        let took = begun.elapsed().as_secs_f64() * 1e3;
        println!("{:8} {:6} objects in {took:6.1} ms", preset.name(), site.objects().len());
        let mut orders = vec![Order::Weighted, Order::InOrder, Order::Walk];
        orders.extend(site.distances().map(|_| Order::StackDistance));
        for order in orders {
            // Sessions of 5 pages, as in WAGON's table 4, and users who never leave.
            for pages in [5, 1_000] {
                draw(preset, order, pages);
            }
        }
    }
}

fn draw(preset: Preset, order: Order, pages: u64) {
    let spec = RequestSetSpec::of_site(SiteSource::Preset(preset), Some(1), order);
    let begun = Instant::now();
    let set = spec.resolve(&mut |_| unreachable!("no file"), Seed(1)).expect("no file");
    let started = begun.elapsed().as_secs_f64() * 1e3;
    let mut rng = Seed(1).stream(Purpose::User, 0);
    let begun = Instant::now();
    let mut requests = 0;
    let mut before = None;
    for number in 0..PAGES {
        let turn = number % pages;
        let at = set.next(before.filter(|_| turn > 0), number / pages, 1, turn, &mut rng);
        before = Some(at);
        let page = &set.pages()[at as usize];
        requests += 1 + page.embedded.len() as u64;
        black_box(page);
    }
    let took = begun.elapsed().as_secs_f64();
    println!(
        "  {order:?}, {pages} pages a session: {:6.1} million pages, {:6.1} million requests a second; {started:.0} ms to start",
        PAGES as f64 / took / 1e6,
        requests as f64 / took / 1e6
    );
}
