//! Reports of other load generators, compared with the packets that they sent.
//!
//! - a file for each tool: its report into [`Reported`], one form for all;
//! - [`Truth`], [`Arrivals`], [`Connections`]: what the packets show of it;
//! - [`Omitted`]: the waiting that open users would have seen;
//! - [`Audit`]: figures side by side, with the cause of a difference where it can be shown.
//!
//! A tool is run, and its packets are captured, by others.

mod ab;
mod arrivals;
mod compare;
mod connections;
mod h2load;
mod httperf;
mod jmeter;
mod k6;
mod locust;
mod oha;
mod omitted;
mod page;
mod reported;
mod rows;
mod table;
mod text;
mod times;
mod truth;
mod wrk;

pub use arrivals::{Arrivals, Process};
pub use compare::{AuditFigure, FigureUnit, Tolerance};
pub use connections::Connections;
pub use omitted::{OmissionMethod, Omitted};
pub use page::{Agreement, Audit, AuditInput, ToolRun};
pub use reported::{Percentile, Reported, Span, Time, Tool};
pub use times::{TimePercentile, Times};
pub use truth::Truth;

/// Reads the report of a tool in `text`, which it printed or wrote into a file. `tool` is the one that it
/// should be from; without it, or if it is not, the one whose report it looks like.
pub fn read_report(tool: Option<Tool>, text: &str) -> Option<Reported> {
    let others = Tool::ALL.into_iter().filter(|other| Some(*other) != tool);
    tool.into_iter().chain(others).find_map(|tool| {
        let text = text.trim_start_matches('\u{feff}');
        match tool {
            Tool::Wrk | Tool::Wrk2 => wrk::read(text),
            Tool::Ab => ab::read(text),
            Tool::H2load => h2load::read(text),
            Tool::Httperf => httperf::read(text),
            Tool::K6 => k6::read(text),
            Tool::Oha => oha::read(text),
            Tool::Locust => locust::read(text),
            Tool::Jmeter => jmeter::read(text),
            Tool::Csv => table::read(text),
        }
    })
}
