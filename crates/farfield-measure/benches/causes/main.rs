//! Faults planted into runs in virtual time, and the first cause that the verdict names: `cargo bench -p
//! farfield-measure --bench causes`. Writes the table of docs/verdict.md between its markers.

mod confusion;
mod faults;
mod scene;
mod table;
mod worker;

use std::fs;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verdict.md");
const MARKERS: [&str; 2] = ["<!-- bench causes begins -->\n", "<!-- bench causes ends -->"];

fn main() {
    let tables = table::tables();
    println!("{tables}");
    let page = fs::read_to_string(PAGE).expect("the page of the verdict");
    let ends = MARKERS.map(|marker| page.find(marker));
    let [Some(begin), Some(end)] = ends else { panic!("{PAGE} lacks {MARKERS:?}") };
    let begin = begin + MARKERS[0].len();
    fs::write(PAGE, format!("{}\n{tables}\n{}", &page[..begin], &page[end..])).expect("the page is written");
}
