//! Check that real programs beside the users were there as asked for: what competes with the load is part of
//! what is measured.

use super::{Check, LimitUnit};
use crate::engine_stats::{EngineStats, ProgramStats};

/// The check; `None` for a run without programs.
pub fn ran(stats: &EngineStats) -> Option<Check> {
    let (name, what) = ("programs-ran", "The programs beside the users ended well, or ran to the end.");
    let programs = &stats.network.as_ref()?.programs;
    if programs.is_empty() {
        return None;
    }
    let failed: Vec<(&ProgramStats, String)> =
        programs.iter().filter_map(|program| Some((program, program.failure()?))).collect();
    let words = failed.iter().map(|(program, why)| {
        let log = program.log.as_ref().map(|log| format!(", see {log}")).unwrap_or_default();
        format!("{} ({}): {why}{log}", program.name(), program.class)
    });
    let note = words.collect::<Vec<_>>().join("; ");
    let check = Check::at_most(name, what, failed.len() as f64, 0.0, LimitUnit::Count);
    let check = check.noted((!note.is_empty()).then_some(note));
    Some(check.advised(|| {
        "see in the run directory what they printed; a command whose failure does not matter can end with `; true`"
            .to_owned()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stats::NetworkStats;
    use crate::verdict::CheckState;
    use farfield_base::Duration;

    fn judged(programs: Vec<ProgramStats>) -> Option<Check> {
        let network = Some(NetworkStats { programs, ..NetworkStats::default() });
        ran(&EngineStats { network, ..EngineStats::default() })
    }

    #[test]
    fn a_program_that_fails_makes_the_run_invalid_and_is_named() {
        assert_eq!(judged(Vec::new()), None);
        let curl =
            ProgramStats { class: "home".into(), command: Some("curl x".into()), ..ProgramStats::default() };
        let shell = ProgramStats { command: None, code: Some(1), ..curl.clone() };
        let ended =
            |code| ProgramStats { code: Some(code), ended: Some(Duration::from_ms(1_240)), ..curl.clone() };
        let passed = judged(vec![curl.clone(), ended(0), shell]).expect("a check");
        assert_eq!((passed.state, passed.note), (CheckState::Passed, None));
        let cut_off = ProgramStats { cut_off: true, log: Some("program-2.log".into()), ..curl.clone() };
        let failed = judged(vec![ended(7), cut_off]).expect("a check");
        assert_eq!(failed.state, CheckState::Failed);
        assert_eq!(
            failed.note.as_deref(),
            Some(
                "curl x (home): it ended with 7 after 1.2 s; curl x (home): its interface vanished, see program-2.log"
            )
        );
    }
}
