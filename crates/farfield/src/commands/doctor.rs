//! `farfield doctor`: what this machine allows, and how to allow more.

pub mod limit;

use crate::exit::Exit;
use crate::flags::doctor::DoctorFlags;
use crate::output;
use crate::problem::Problem;

/// Prints what was found, each with its remedy; or what the generator can offer, where that is asked for.
pub fn doctor(flags: &DoctorFlags) -> Result<Exit, Problem> {
    if flags.limit {
        return limit::limit(flags);
    }
    let findings = farfield_engine::doctor::examine();
    for finding in &findings {
        let mark = if finding.remedy.is_some() { "!" } else { " " };
        output::put(&format!("{mark} {:<20} {}\n", finding.subject, finding.found))?;
        if let Some(remedy) = &finding.remedy {
            output::put(&format!("  {:<20} -> {remedy}\n", ""))?;
        }
    }
    let wanting = findings.iter().filter(|finding| finding.remedy.is_some()).count();
    output::put(match wanting {
        0 => "\nThis machine allows all that farfield does.\n",
        _ => "\nWhat is marked ! limits what farfield can do here; what stands behind -> would mend it.\n",
    })?;
    Ok(Exit::Fine)
}
