//! The clients of a network that real programs take the places of.

use crate::plane::EmulatedNetwork;
use farfield_emulator::ClientId;

/// Why a class has no client for a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoClient {
    /// No client is of that class.
    #[error("no clients are of the class `{asked}`; there are {}", .classes.join(", "))]
    OfClass {
        /// The name that was given.
        asked: String,
        /// The names that there are.
        classes: Vec<String>,
        /// The number of the program, from 0.
        nth: usize,
    },
    /// There are more programs than clients.
    #[error(
        "there are {clients} clients of the class `{class}` for {programs} programs; each needs one: set network.clients"
    )]
    TooFew {
        /// The class.
        class: String,
        /// Clients of the class.
        clients: usize,
        /// Programs that are to be of it.
        programs: usize,
        /// The number of the program that has none, of all programs, from 0.
        nth: usize,
    },
}

impl NoClient {
    /// The number of the program that has no client, from 0.
    pub fn nth(&self) -> usize {
        match self {
            NoClient::OfClass { nth, .. } | NoClient::TooFew { nth, .. } => *nth,
        }
    }
}

/// A client for each of `classes`, in order, the first that is not taken yet: of all classes where none is
/// named.
///
/// # Errors
/// If a class has no clients, or fewer than are wanted.
pub fn clients_of(network: &EmulatedNetwork, classes: &[Option<&str>]) -> Result<Vec<ClientId>, NoClient> {
    let plan = &network.plan;
    let name = |number: usize| plan.classes[usize::from(plan.clients[number].class)].name.as_str();
    let mut taken: Vec<usize> = Vec::new();
    for (nth, class) in classes.iter().enumerate() {
        let mut of_class =
            (0..plan.acting()).filter(|number| class.is_none_or(|class| name(*number) == class));
        let Some(number) = of_class.find(|number| !taken.contains(number)) else {
            let clients = (0..plan.acting()).filter(|number| class.is_none_or(|c| name(*number) == c));
            let asked = class.unwrap_or("any").to_owned();
            return Err(match clients.count() {
                0 => {
                    let classes = plan.classes.iter().map(|class| class.name.clone()).collect();
                    NoClient::OfClass { asked, classes, nth }
                }
                clients => {
                    let programs = classes.iter().filter(|other| *other == class).count();
                    NoClient::TooFew { class: asked, clients, programs, nth }
                }
            });
        };
        taken.push(number);
    }
    Ok(taken.into_iter().map(|number| ClientId::new(number as u32)).collect())
}
