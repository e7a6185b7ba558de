//! From a session as written to one that runs: names become numbers, files are read.

use super::around::Around;
use super::data::Data;
use super::field::FieldSpec;
use super::replay::Replay;
use super::state::StateSpec;
use super::{
    Check, FormOf, Session, SessionError, SessionSpec, SessionState, extract, names, path, template,
    websocket,
};
use crate::distribution::Distribution;
use crate::file::{FileError, Load};
use farfield_base::random::Seed;
use http::Method;
use std::collections::BTreeSet;

impl SessionSpec {
    /// The recording that is asked for again, if one is; read through `load`, for requests to `target`, as a
    /// Host field has it, where that is known.
    pub fn resolve_replay(
        &self,
        load: &mut Load<'_>,
        target: Option<&str>,
        beside: &[String],
    ) -> Result<Option<Replay>, SessionError> {
        let Some(spec) = &self.replay else { return Ok(None) };
        if !self.state.is_empty() || !self.data.is_empty() {
            return Err(SessionError::at(
                "replay",
                "a recording says all that is asked for; leave out states and data",
            ));
        }
        spec.resolve(load, target, beside)
            .map(Some)
            .map_err(|error| SessionError::file("replay.file", &error))
    }

    /// The session itself: files read through `load`, rows shuffled by `seed`.
    pub fn resolve(&self, load: &mut Load<'_>, seed: Seed) -> Result<Session, SessionError> {
        let names = self.names()?;
        for (number, state) in self.state.iter().enumerate() {
            state.check(&format!("state[{number}]"))?;
        }
        websocket::check_opened(&self.state)?;
        let around = Around::of(self, &names)?;
        let route =
            path::resolve(&names, &around, self.path.as_ref(), self.entry.as_ref(), &self.transitions)?;
        let data = self.data.iter().enumerate().map(|(number, spec)| {
            let resolved = spec.resolve(load, seed, number as u64);
            resolved.map_err(|error| SessionError::file(format!("data[{number}].file"), &error))
        });
        let data: Vec<Data> = data.collect::<Result<_, _>>()?;
        let resolved = |key: &str, times: Result<Option<Distribution>, FileError>| {
            times.map_err(|error| SessionError::file(key, &error))
        };
        let clicks = resolved(
            "clicks",
            self.clicks.as_ref().map(|distribution| distribution.resolve(load)).transpose(),
        )?;
        let think = resolved(
            "think",
            self.think.as_ref().map(|distribution| distribution.resolve(load)).transpose(),
        )?;
        let warnings = never_asked(&names, &around, &route).into_iter().collect();
        let names = names::Names::new(&self.state, &data)?;
        let mut session = Session {
            states: Vec::new(),
            route,
            around,
            given: vec![None; names.variables().len()],
            variables: names.variables(),
            data,
            environment: Vec::new(),
            forms: Vec::new(),
            clicks,
            think,
            cookies: self.cookies,
            redirects: self.redirects,
            page_load: self.page_load,
            cache: self.cache,
            body_limit: self.body_limit.0 as usize,
            warnings,
        };
        let bodies = self.states(&mut session, &names, load)?;
        session.environment = names.environment();
        keep_forms(&mut session);
        names.check_order(&self.state, &bodies, &mut session)?;
        Ok(session)
    }

    /// The names of the states, which differ.
    fn names(&self) -> Result<Vec<&str>, SessionError> {
        if self.state.is_empty() {
            return Err(SessionError::at(
                "state",
                "there is no state; write at least one `[[session.state]]`, or a `replay`",
            ));
        }
        if self.state.len() > usize::from(u16::MAX / 2) {
            return Err(SessionError::at("state", "there are more than 32767 states; write fewer"));
        }
        let names: Vec<&str> = self.state.iter().map(|state| state.name.as_str()).collect();
        let mut known = BTreeSet::new();
        if let Some(twice) = names.iter().position(|name| !known.insert(*name)) {
            let sentence = format!("there is a state `{}` before; names must differ", names[twice]);
            return Err(SessionError::at(format!("state[{twice}].name"), sentence));
        }
        Ok(names)
    }

    /// Adds the states to `session`; returns their bodies.
    fn states(
        &self,
        session: &mut Session,
        names: &names::Names,
        load: &mut Load<'_>,
    ) -> Result<Vec<Option<template::Template>>, SessionError> {
        let mut embedded_first = self.state.len() as u32;
        let mut bodies = Vec::with_capacity(self.state.len());
        for (number, spec) in self.state.iter().enumerate() {
            let body = spec.body.as_ref().map(|body| body.resolve(load)).transpose();
            let body = body.map_err(|error| SessionError::file(format!("state[{number}].body"), &error))?;
            bodies.push(body);
            let body = bodies[number].as_ref();
            let state = self.state(session, names, number, spec, (embedded_first, body), load)?;
            embedded_first += state.embedded.len() as u32;
            session.states.push(state);
        }
        Ok(bodies)
    }

    fn state(
        &self,
        session: &mut Session,
        names: &names::Names,
        number: usize,
        spec: &StateSpec,
        (embedded_first, body): (u32, Option<&template::Template>),
        load: &mut Load<'_>,
    ) -> Result<SessionState, SessionError> {
        let key = |part: &str| format!("state[{number}].{part}");
        let text = |part: &str, template| names.text(&key(part), template);
        let texts = |part: &str, templates: &[template::Template]| {
            templates.iter().map(|template| names.text(&key(part), template)).collect::<Result<Vec<_>, _>>()
        };
        let form = match &spec.form {
            None => None,
            Some(form) => {
                let fields = form.fields.iter().flat_map(|(name, field)| {
                    let key = format!("form.fields.{name}");
                    field.texts().iter().map(move |template| Ok((name.clone(), text(&key, template)?)))
                });
                let fields = fields.collect::<Result<_, _>>()?;
                let files = form.files.iter().map(|(name, upload)| {
                    Ok((name.clone(), upload.resolve(names, &key(&format!("form.files.{name}")), load)?))
                });
                let left_out = form.fields.iter().filter(|(_, field)| **field == FieldSpec::LeftOut);
                session.forms.push(FormOf {
                    files: files.collect::<Result<_, _>>()?,
                    name: form.select.template().as_str().to_owned(),
                    select: form.select.resolve(&key("form.select"), names)?,
                    pick: form.pick(),
                    left_out: left_out.map(|(name, _)| name.clone()).collect(),
                    fields,
                    submit: form.submit.clone(),
                });
                Some(session.forms.len() as u16 - 1)
            }
        };
        let headers = spec.headers.iter().map(|(name, template)| {
            let name = name.as_str().to_owned();
            text(&format!("headers.{name}"), template).map(|text| (name, text))
        });
        let think = spec.think.as_ref().map(|distribution| distribution.resolve(load)).transpose();
        let regexes = spec.check.regex.iter().map(|regex| regex.resolve(&key("check.regex"), names));
        let (conditions, repeat) = spec.course(names, &format!("state[{number}]"))?;
        Ok(SessionState {
            name: spec.name.as_str().to_owned(),
            websocket: spec.websocket,
            method: match spec.websocket {
                Some(_) => Method::GET,
                None => spec.verb(),
            },
            path: spec.path.as_ref().map(|path| text("path", path)).transpose()?,
            headers: headers.collect::<Result<_, _>>()?,
            body: body.map(|body| text("body", body)).transpose()?,
            form,
            embedded: spec.embedded.iter().map(|target| target.as_str().to_owned()).collect(),
            embedded_first,
            think: think.map_err(|error| SessionError::file(key("think"), &error))?,
            extract: extract::resolve(&spec.extract, &key("extract"), names)?,
            check: Check {
                contains: texts("check.contains", &spec.check.contains)?,
                lacks: texts("check.lacks", &spec.check.lacks)?,
                regex: regexes.collect::<Result<_, _>>()?,
                css: spec.check.css.resolve(&key("check.css"), names)?,
                json: spec.check.json.resolve(&key("check.json"), names)?,
                spec: spec.check.clone(),
            },
            on_failure: spec.on_failure.unwrap_or(self.on_failure),
            conditions,
            repeat,
            forms_kept: Vec::new(),
        })
    }
}

/// States of a warning at most.
const NAMED_MAX: usize = 5;

/// The warning about states that stand nowhere, and to which no session comes.
fn never_asked(names: &[&str], around: &Around, route: &path::StatePath) -> Option<String> {
    let reached = route.reached();
    let is_left = |(state, _): &(u16, &&str)| !reached.contains(state) && around.list_of(*state).is_none();
    let left: Vec<String> = (0..).zip(names).filter(is_left).map(|(_, name)| format!("`{name}`")).collect();
    let shown = left.get(..NAMED_MAX).unwrap_or(&left).join(", ");
    match left.len() {
        0 => None,
        1 => Some(format!("session: no path leads to the state {shown}, which is never asked for")),
        count => {
            let more = if count > NAMED_MAX { ", …" } else { "" };
            Some(format!(
                "session: no path leads to {count} states, which are never asked for: {shown}{more}"
            ))
        }
    }
}

/// Marks in each state the forms that a state after it may send.
fn keep_forms(session: &mut Session) {
    for (from, to) in session.follows() {
        if let Some(form) = session.states[usize::from(to)].form {
            let kept = &mut session.states[usize::from(from)].forms_kept;
            if !kept.contains(&form) {
                kept.push(form);
            }
        }
    }
}
