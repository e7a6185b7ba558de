//! `farfield doctor`: what this machine allows, and how to allow more.

use crate::exit::Exit;
use crate::problem::Problem;

/// Prints what was found, each with its remedy.
pub fn doctor() -> Result<Exit, Problem> {
    let findings = farfield_engine::doctor::examine();
    for finding in &findings {
        let mark = if finding.remedy.is_some() { "!" } else { " " };
        println!("{mark} {:<20} {}", finding.subject, finding.found);
        if let Some(remedy) = &finding.remedy {
            println!("  {:<20} -> {remedy}", "");
        }
    }
    let wanting = findings.iter().filter(|finding| finding.remedy.is_some()).count();
    match wanting {
        0 => println!("\nThis machine allows all that farfield does."),
        _ => println!(
            "\nWhat is marked ! limits what farfield can do here; what stands behind -> would mend it."
        ),
    }
    Ok(Exit::Fine)
}
