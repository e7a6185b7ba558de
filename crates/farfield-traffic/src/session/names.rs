//! Names of variables and columns: their numbers, and whether each has a value where it is used.

use super::data::Data;
use super::secret::Secret;
use super::state::StateSpec;
use super::template::{Name, Template, TemplatePart};
use super::{Session, SessionError, Text, TextPiece, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Meanings of names.
pub(super) struct Names {
    variables: Vec<String>,
    /// Columns, with the file and the column that each is.
    columns: Vec<(String, Value)>,
    /// Environment variables looked up, by number.
    environment: RefCell<Vec<Secret>>,
}

impl Names {
    /// The names that states and data define. Refuses one that both do, or two files.
    pub fn new(states: &[StateSpec], data: &[Data]) -> Result<Names, SessionError> {
        let mut columns: Vec<(String, Value)> = Vec::new();
        for (number, data) in data.iter().enumerate() {
            for (column, name) in data.columns().iter().enumerate() {
                if columns.iter().any(|(known, _)| known == name) {
                    let sentence = format!("another column is called `{name}` already; name it otherwise");
                    return Err(SessionError::at(format!("data[{number}].file"), sentence));
                }
                columns.push((name.clone(), Value::Column { data: number as u16, column: column as u16 }));
            }
        }
        for (number, state) in states.iter().enumerate() {
            let taken = |name: &&String| columns.iter().any(|(known, _)| known == *name);
            if let Some(name) = state.extract.keys().find(taken) {
                let sentence = "is a column of the data already; name one of both otherwise";
                return Err(SessionError::at(format!("state[{number}].extract.{name}"), sentence));
            }
        }
        let variables: BTreeSet<&String> = states.iter().flat_map(|state| state.extract.keys()).collect();
        Ok(Names {
            variables: variables.into_iter().cloned().collect(),
            columns,
            environment: RefCell::default(),
        })
    }

    /// The names of variables, by number.
    pub fn variables(&self) -> Vec<String> {
        self.variables.clone()
    }

    /// Environment variables that texts need, by number.
    pub fn environment(&self) -> Vec<Secret> {
        self.environment.borrow().clone()
    }

    fn secret(&self, key: &str, name: &str) -> Result<Value, SessionError> {
        let mut environment = self.environment.borrow_mut();
        if let Some(known) = environment.iter().position(|secret| secret.name == name) {
            return Ok(Value::Environment(known as u16));
        }
        environment.push(Secret::read(name).map_err(|sentence| SessionError::at(key, sentence))?);
        Ok(Value::Environment(environment.len() as u16 - 1))
    }

    /// The number of the variable that `key` names; refuses what no state defines.
    pub fn known_variable(&self, key: &str, name: &str) -> Result<u16, SessionError> {
        let known = self.variables.iter().position(|known| known == name);
        known.map(|place| place as u16).ok_or_else(|| {
            let sentence = format!("no state extracts `{name}`; there are `{}`", self.variables.join("`, `"));
            SessionError::at(key, sentence)
        })
    }

    /// The number of a variable that a state defines.
    pub fn variable(&self, name: &str) -> u16 {
        let place = self.variables.iter().position(|known| known == name);
        place.expect("all that states extract are known") as u16
    }

    /// The template at `key`, with numbers for names.
    pub fn text(&self, key: &str, template: &Template) -> Result<Text, SessionError> {
        let piece = |part: &TemplatePart| {
            Ok(match part {
                TemplatePart::Text(text) => TextPiece::Plain(text.as_str().into()),
                TemplatePart::Bytes(bytes) => TextPiece::Bytes(bytes.clone()),
                TemplatePart::Placeholder { name, escape } => {
                    TextPiece::Value(self.value(key, name)?, *escape)
                }
            })
        };
        template.parts().iter().map(piece).collect::<Result<_, _>>().map(Text)
    }

    fn value(&self, key: &str, name: &Name) -> Result<Value, SessionError> {
        Ok(match name {
            Name::User => Value::User,
            Name::Session => Value::Session,
            Name::Click => Value::Click,
            Name::Environment(name) => self.secret(key, name)?,
            Name::Random(from, to) => Value::Random(*from, *to),
            Name::Variable(name) => match self.variables.iter().position(|known| known == name) {
                Some(place) => Value::Variable(place as u16),
                None => {
                    let column = self.columns.iter().find(|(known, _)| known == name);
                    column.map(|(_, value)| *value).ok_or_else(|| self.unknown(key, name))?
                }
            },
        })
    }

    fn unknown(&self, key: &str, name: &str) -> SessionError {
        let known = self.variables.iter().chain(self.columns.iter().map(|(name, _)| name));
        let mut known: Vec<&str> = known.map(String::as_str).collect();
        known.extend(["user", "session", "click"]);
        let sentence = format!(
            "nothing defines `${{{name}}}`; there are `{}` and `random(from,to)`",
            known.join("`, `")
        );
        SessionError::at(key, sentence)
    }

    /// Refuses a variable where no state that defines it can come before, and warns where one need not.
    /// `bodies` are those of the states, be they in files.
    pub fn check_order(
        &self,
        specs: &[StateSpec],
        bodies: &[Option<Template>],
        session: &mut Session,
    ) -> Result<(), SessionError> {
        let own = |state: usize| specs[state].extract.keys().map(String::as_str).collect::<BTreeSet<_>>();
        let before = ReachingDefinitions::of(session, own);
        let mut warnings = Vec::new();
        for (number, spec) in specs.iter().enumerate() {
            for (key, name) in spec.deciding() {
                let own = key == "while-found" && spec.extract.contains_key(name);
                if !own && !before.maybe[number].contains(name) {
                    let sentence = format!("no state before `{}` extracts `{name}`", spec.name.as_str());
                    return Err(SessionError::at(format!("state[{number}].{key}"), sentence));
                }
            }
            for (part, template) in templates(spec, bodies[number].as_ref()) {
                let column =
                    template.variables().find(|name| self.columns.iter().any(|(known, _)| known == name));
                if let Some(column) = column.filter(|_| session.around.is_once(number as u16)) {
                    let sentence = format!(
                        "`${{{column}}}` is a column of the data, and `{}` is asked for once in a run, by no session with a \
                         row",
                        spec.name.as_str()
                    );
                    return Err(SessionError::at(format!("state[{number}].{part}"), sentence));
                }
                for name in
                    template.variables().filter(|name| self.variables.iter().any(|known| known == name))
                {
                    if spec.deciding().any(|(key, decides)| key == "if-found" && decides == name) {
                        continue;
                    }
                    let own = spec.extract.contains_key(name);
                    if own && part.starts_with("check") {
                        let sentence = format!(
                            "`{name}` is extracted by this state, after its checks: `${{{name}}}` would be the value from \
                             before; extract it by another name, or check it in a state behind"
                        );
                        return Err(SessionError::at(format!("state[{number}].{part}"), sentence));
                    }
                    // Values that a state extracts may be used by it to find others.
                    let taken = |rest: &str| rest.split_once('.').is_some_and(|(other, _)| other != name);
                    let own = own && part.strip_prefix("extract.").is_some_and(taken);
                    if own || before.surely[number].as_ref().is_none_or(|sure| sure.contains(name)) {
                        continue;
                    }
                    let key = format!("state[{number}].{part}");
                    if !before.maybe[number].contains(name) {
                        let sentence =
                            format!("no state before `{}` defines `${{{name}}}`", spec.name.as_str());
                        return Err(SessionError::at(key, sentence));
                    }
                    warnings.push(format!(
                        "session.{key}: `${{{name}}}` is empty where no state before has defined it"
                    ));
                }
            }
        }
        session.warnings.extend(warnings);
        Ok(())
    }
}

/// The variables that have a value when a state is come to.
struct ReachingDefinitions<'a> {
    /// Names defined on every path to a state; `None` for a state that no path reaches.
    surely: Vec<Option<BTreeSet<&'a str>>>,
    /// Names defined on some path.
    maybe: Vec<BTreeSet<&'a str>>,
}

impl<'a> ReachingDefinitions<'a> {
    /// To a fixed point over the pairs of states that can follow each other.
    fn of(session: &Session, own: impl Fn(usize) -> BTreeSet<&'a str>) -> ReachingDefinitions<'a> {
        let states = session.states.len();
        let mut before =
            ReachingDefinitions { surely: vec![None; states], maybe: vec![BTreeSet::new(); states] };
        // Variables that the set-up extracts are known wherever else anything begins; a run without them is
        // not begun.
        let set_up = || session.around.set_up.iter().map(|state| usize::from(*state));
        let conditional = |state: &usize| !session.states[*state].conditions.is_empty();
        let given: BTreeSet<&str> = set_up().filter(|state| !conditional(state)).flat_map(&own).collect();
        let maybe_given: BTreeSet<&str> = set_up().flat_map(&own).collect();
        for entry in session.entries().into_iter().map(usize::from) {
            let of_set_up = set_up().any(|state| state == entry);
            before.surely[entry] = Some(if of_set_up { BTreeSet::new() } else { given.clone() });
            before.maybe[entry] = if of_set_up { BTreeSet::new() } else { maybe_given.clone() };
        }
        let pairs = session.follows();
        loop {
            let mut changed = false;
            for (from, to) in pairs.iter().map(|(from, to)| (usize::from(*from), usize::from(*to))) {
                let Some(sure) = before.surely[from].clone() else { continue };
                let sure: BTreeSet<&str> = sure.union(&own(from)).copied().collect();
                let sure = match &before.surely[to] {
                    Some(known) => known.intersection(&sure).copied().collect(),
                    None => sure,
                };
                let maybe: BTreeSet<&str> = before.maybe[from].union(&own(from)).copied().collect();
                let maybe: BTreeSet<&str> = before.maybe[to].union(&maybe).copied().collect();
                changed |= before.surely[to].as_ref() != Some(&sure) || before.maybe[to] != maybe;
                (before.surely[to], before.maybe[to]) = (Some(sure), maybe);
            }
            if !changed {
                return before;
            }
        }
    }
}

/// The templates of a state, with where they stand in it.
fn templates<'t>(
    spec: &'t StateSpec,
    body: Option<&'t Template>,
) -> impl Iterator<Item = (String, &'t Template)> {
    let one = |part: &str, template| (part.to_owned(), template);
    let fields = spec.form.iter().flat_map(|form| &form.fields).flat_map(|(name, field)| {
        field.texts().iter().map(move |text| (format!("form.fields.{name}"), text))
    });
    let selects = spec.form.iter().map(|form| ("form.select".to_owned(), form.select.template()));
    let taken = spec.extract.iter().filter_map(|(name, spec)| {
        let (part, template) = spec.from.query()?;
        Some((format!("extract.{name}.{part}"), template))
    });
    let files = spec.form.iter().flat_map(|form| &form.files).flat_map(|(name, upload)| {
        upload.templates().map(move |(part, template)| (format!("form.files.{name}.{part}"), template))
    });
    spec.path
        .iter()
        .map(move |path| one("path", path))
        .chain(spec.headers.iter().map(move |(name, value)| (format!("headers.{}", name.as_str()), value)))
        .chain(body.map(|body| one("body", body)))
        .chain(fields)
        .chain(selects)
        .chain(taken)
        .chain(files)
        .chain(spec.check.contains.iter().map(move |text| one("check.contains", text)))
        .chain(spec.check.lacks.iter().map(move |text| one("check.lacks", text)))
        .chain(spec.check.regex.iter().map(move |regex| one("check.regex", regex.template())))
        .chain(spec.check.css.templates().map(move |text| one("check.css", text)))
        .chain(spec.check.json.templates().map(move |text| one("check.json", text)))
}
