//! `--part auto`: the place of this process among those that an engine started, by the environment that the
//! engine gives it.

use crate::problem::Problem;
use farfield_base::Part;

/// Engines, each with the variable of a process's place, from 0, and that of the number of processes.
/// farfield's own come first: whoever sets them means them. Then the innermost: `mpirun` in a job of Slurm
/// leaves its processes the place that the job's script has, and a pod may start either. Kubernetes does
/// not say how many there are.
const ENGINES: [(&str, &str, Option<&str>); 5] = [
    ("farfield", "FARFIELD_RANK", Some("FARFIELD_PARTS")),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE")),
    ("PMI", "PMI_RANK", Some("PMI_SIZE")),
    ("Slurm", "SLURM_PROCID", Some("SLURM_NTASKS")),
    ("Kubernetes", "JOB_COMPLETION_INDEX", None),
];
/// The number of processes, whatever the engine.
const PARTS: &str = "FARFIELD_PARTS";

/// A place among the processes of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// From 0.
    pub rank: u32,
    /// The number of processes, if it is known.
    pub size: Option<u32>,
}

impl Rank {
    /// The place of this process.
    pub fn of_environment() -> Result<Rank, Problem> {
        Rank::by(&|name| std::env::var(name).ok())
    }

    fn by(variable: &dyn Fn(&str) -> Option<String>) -> Result<Rank, Problem> {
        let number = |name: &str| {
            let value = variable(name).filter(|value| !value.is_empty());
            let read = |value: String| {
                let wrong = |_| Problem::usage(format!("--part auto: {name} is `{value}`, and no number"));
                value.trim().parse::<u32>().map_err(wrong)
            };
            value.map(read).transpose()
        };
        for (_, rank, size) in ENGINES {
            let Some(rank) = number(rank)? else { continue };
            let size = match number(PARTS)? {
                None => size.map(number).transpose()?.flatten(),
                given => given,
            };
            if size.is_some_and(|size| rank >= size) {
                return Err(Problem::usage(format!(
                    "--part auto: there is no place {rank} (from 0) among {size:?}"
                )));
            }
            return Ok(Rank { rank, size });
        }
        let names: Vec<String> = ENGINES.map(|(engine, rank, _)| format!("{rank} ({engine})")).to_vec();
        Err(Problem::usage(format!("--part auto: no engine says which part this is by {}", names.join(", "))))
    }

    /// The part of a run of as many equal parts as there are processes.
    pub fn part(self) -> Result<Part, Problem> {
        let size = self.size.ok_or_else(|| {
            Problem::usage(format!(
                "--part auto: {PARTS} is not set, and so it is not known how many parts there are"
            ))
        })?;
        Part::new(self.rank + 1, size).map_err(Problem::usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(variables: &[(&str, &str)]) -> Result<Rank, String> {
        let of =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        Rank::by(&of).map_err(|problem| problem.to_string())
    }

    #[test]
    fn each_engine_says_which_part_a_process_is() {
        for (variables, part) in [
            (&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "3")][..], "1/3"),
            (&[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3")], "3/3"),
            (&[("PMI_RANK", "1"), ("PMI_SIZE", "2")], "2/2"),
            (&[("JOB_COMPLETION_INDEX", "7"), ("FARFIELD_PARTS", "8")], "8/8"),
            (
                &[
                    ("FARFIELD_RANK", "1"),
                    ("FARFIELD_PARTS", "4"),
                    ("SLURM_PROCID", "0"),
                    ("SLURM_NTASKS", "1"),
                ],
                "2/4",
            ),
            (&[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2"), ("PMI_RANK", "")], "2/2"),
            // mpirun in a job of Slurm: all its processes have the place of the job's script.
            (
                &[
                    ("SLURM_PROCID", "0"),
                    ("SLURM_NTASKS", "4"),
                    ("OMPI_COMM_WORLD_RANK", "2"),
                    ("OMPI_COMM_WORLD_SIZE", "3"),
                ],
                "3/3",
            ),
            (
                &[
                    ("SLURM_PROCID", "0"),
                    ("SLURM_NTASKS", "4"),
                    ("PMI_RANK", "1"),
                    ("PMI_SIZE", "2"),
                    ("JOB_COMPLETION_INDEX", "0"),
                ],
                "2/2",
            ),
        ] {
            let part_of = rank(variables).expect("an engine").part().expect("a part");
            assert_eq!(part_of.to_string(), part);
        }
        let alone = rank(&[("JOB_COMPLETION_INDEX", "7")]).expect("an engine");
        assert_eq!(alone, Rank { rank: 7, size: None });
        assert!(alone.part().is_err_and(|problem| problem.to_string().contains("FARFIELD_PARTS")));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for (variables, says) in [
            (&[][..], "SLURM_PROCID (Slurm)"),
            (&[("PMI_RANK", "x"), ("PMI_SIZE", "2")], "PMI_RANK is `x`"),
            (&[("PMI_RANK", "2"), ("PMI_SIZE", "2")], "no place 2"),
            (&[("PMI_RANK", "-1"), ("PMI_SIZE", "2")], "`-1`"),
        ] {
            let said = rank(variables).expect_err("no place");
            assert!(said.contains(says), "{said}");
        }
    }
}
