//! `[tls]`: whom the users of an `https://` target trust, and what they offer.

use super::mistake::Mistake;
use super::prepare::BUILT_IN_NAME;
use super::simulated::SimulatedSpec;
use super::{Scenario, ScenarioError};
use farfield_engine::{PlaneKind, tls as machine};
use farfield_http::tls::model::{Offer, Terms};
use farfield_http::tls::{
    Alpn, Group, Identities, Pin, SettingsError, TlsSettings, Trust, Version, certificates_of_pem,
};
use farfield_origin::OriginConfig;
use farfield_traffic::file::{FileError, Load};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// `[tls]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TlsSpec {
    /// The name that users ask for (SNI) and that the certificate must be for; the target's host if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Certificates are verified.
    pub verify: bool,
    /// PEM file of the root certificates that are trusted; those of the system if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// Public keys of the certificates that are accepted, in place of roots and names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<String>,
    /// Versions that are offered.
    pub versions: Vec<TlsVersion>,
    /// Groups of key exchange that are offered, in order, with a key share for the first.
    pub groups: Vec<GroupName>,
    /// PEM file of the certificates that users have for servers that ask for one; none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// PEM file of their private keys; that of the certificates if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// Users keep tickets and resume their sessions with them.
    pub resumption: bool,
    /// Requests with safe methods go within the handshake, where the ticket allows it.
    pub early_data: bool,
    /// The secrets of sessions are written into the run directory.
    pub key_log: bool,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersion {
    /// TLS 1.2.
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3.
    #[serde(rename = "1.3")]
    Tls13,
}

/// A group of key exchange, by its name at IANA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupName {
    /// X25519.
    #[serde(rename = "x25519")]
    X25519,
    /// NIST P-256.
    #[serde(rename = "secp256r1")]
    Secp256r1,
    /// NIST P-384.
    #[serde(rename = "secp384r1")]
    Secp384r1,
    /// The post-quantum hybrid of ML-KEM-768 and X25519.
    #[serde(rename = "X25519MLKEM768")]
    X25519MlKem768,
}

impl GroupName {
    /// All groups, in the order in which they are offered by default.
    pub const ALL: [GroupName; 4] =
        [GroupName::X25519, GroupName::Secp256r1, GroupName::Secp384r1, GroupName::X25519MlKem768];

    /// The group as sessions have it.
    pub(crate) fn of_session(self) -> Group {
        match self {
            GroupName::X25519 => Group::X25519,
            GroupName::Secp256r1 => Group::Secp256r1,
            GroupName::Secp384r1 => Group::Secp384r1,
            GroupName::X25519MlKem768 => Group::X25519MlKem768,
        }
    }
}

impl Default for TlsSpec {
    fn default() -> TlsSpec {
        TlsSpec {
            server_name: None,
            verify: true,
            ca: None,
            pins: Vec::new(),
            versions: vec![TlsVersion::Tls12, TlsVersion::Tls13],
            groups: GroupName::ALL.to_vec(),
            certificate: None,
            key: None,
            resumption: true,
            early_data: false,
            key_log: false,
        }
    }
}

/// TLS without cryptography: the clients' offer, and the terms of the server.
type ModelTls = (Arc<Offer>, Arc<Terms>);

/// The TLS of a run, as far as the scenario says it: the system's roots are still to be read.
#[derive(Debug)]
pub(crate) struct PlannedTls {
    name: String,
    /// `None` for the system's roots.
    trust: Option<Trust>,
    versions: Vec<Version>,
    groups: Vec<Group>,
    identities: Option<Identities>,
    resumption: bool,
    early_data: bool,
    alpn: Alpn,
}

impl Scenario {
    /// True if users talk TLS to the server.
    pub fn is_secure(&self) -> bool {
        match (self.plane, &self.target) {
            (PlaneKind::Simulated, _) => self.simulated.as_ref().is_some_and(|model| model.tls.is_some()),
            (_, Some(url)) => url.is_secure(),
            (_, None) => self.is_built_in_secure(),
        }
    }

    /// True if the built-in server is the run's, and serves over TLS.
    fn is_built_in_secure(&self) -> bool {
        let is_built_in = self.plane != PlaneKind::Simulated && self.target.is_none() && !self.is_started();
        is_built_in && self.origin.as_ref().is_some_and(OriginConfig::is_secure)
    }

    /// True if the secrets of TLS sessions are kept, by which captured records are decrypted.
    pub fn logs_keys(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.key_log)
    }

    /// TLS without cryptography: what users offer to the `model` of a server, and what it has.
    pub(crate) fn model_tls(&self, model: &SimulatedSpec) -> Result<Option<ModelTls>, Mistake> {
        let Some(server) = &model.tls else { return Ok(None) };
        let spec = self.tls.clone().unwrap_or_default();
        let name = spec.server_name.clone().unwrap_or_else(|| BUILT_IN_NAME.to_owned());
        let is_name = name.parse::<std::net::IpAddr>().is_err();
        let offer = Offer {
            name: is_name.then_some(name),
            protocol: self.http.alpn(),
            versions: spec.versions.iter().map(|version| version.of_session()).collect(),
            groups: spec.groups()?,
            resumption: spec.resumption,
            early_data: spec.early_data()?,
        };
        if offer.versions.is_empty() {
            return Err(Mistake::at("tls.versions", SettingsError::Versions));
        }
        let terms = server.terms(offer.early_data)?;
        Ok(Some((offer.into(), terms.into())))
    }

    /// The TLS of the run, if its scheme is https and it has cryptography; the CA's file comes from `load`.
    pub(crate) fn plan_tls(&self, load: &mut Load<'_>) -> Result<Option<PlannedTls>, Mistake> {
        if !self.is_secure() {
            return match (&self.tls, self.plane) {
                (None, _) => Ok(None),
                (Some(_), PlaneKind::Simulated) => {
                    let sentence = "the model of a server of the simulated plane speaks plain HTTP; give it TLS with \
                                    [simulated.tls], or remove this table";
                    Err(Mistake::at("tls", sentence))
                }
                (Some(_), _) if self.host.iter().any(|host| host.url.is_secure()) => Ok(None),
                (Some(_), _) => {
                    let sentence = "it is about https, and the target's scheme is http; write https:// or remove this table";
                    Err(Mistake::at("tls", sentence))
                }
            };
        }
        let spec = self.tls.clone().unwrap_or_default();
        if self.plane == PlaneKind::Simulated {
            return spec.check_for_model().map(|()| None);
        }
        let is_made = self.origin.as_ref().is_none_or(|origin| origin.certificate.is_none());
        if self.is_built_in_secure() && is_made && spec.verify {
            let sentence = "the built-in server makes its certificate when it starts, so that nothing can verify it: \
                            write --insecure (tls.verify = false), or start `farfield serve --tls` and pin the key that \
                            it names";
            return Err(Mistake::at("origin.tls", sentence));
        }
        let name = spec.server_name.clone();
        let name = name.or_else(|| self.target.as_ref().map(|url| url.host().to_owned()));
        self.tls_to(name.unwrap_or_else(|| BUILT_IN_NAME.to_owned()), load).map(Some)
    }

    /// TLS to a host that users ask for by `name`.
    pub(crate) fn tls_to(&self, name: String, load: &mut Load<'_>) -> Result<PlannedTls, Mistake> {
        let spec = self.tls.clone().unwrap_or_default();
        let planned = PlannedTls {
            name,
            trust: spec.trust(load)?,
            versions: spec.versions.iter().map(|version| version.of_session()).collect(),
            groups: spec.groups()?,
            identities: spec.identities(load)?,
            resumption: spec.resumption,
            early_data: spec.early_data()?,
            alpn: self.http.alpn(),
        };
        // All but the system's roots is checked now.
        let trust = planned.trust.clone().unwrap_or(Trust::Anyone);
        planned.settings(trust).map_err(|error| Mistake::at(error_key(&error), &error))?;
        Ok(planned)
    }

    /// Warnings about the trust that the result rests on.
    pub(crate) fn warnings_of_tls(&self) -> Vec<String> {
        let unverified = self.has_secure_host() && self.tls.as_ref().is_some_and(|tls| !tls.verify);
        let warning = "certificates are not verified (`--insecure`, tls.verify = false): whatever answered may not be the \
                       server";
        unverified.then(|| warning.to_owned()).into_iter().collect()
    }
}

impl TlsVersion {
    /// The version as sessions have it.
    pub(crate) fn of_session(self) -> Version {
        match self {
            TlsVersion::Tls12 => Version::Tls12,
            TlsVersion::Tls13 => Version::Tls13,
        }
    }
}

impl TlsSpec {
    /// The simulated plane has no certificates and no secrets.
    fn check_for_model(&self) -> Result<(), Mistake> {
        let written = [
            ("tls.verify", !self.verify),
            ("tls.ca", self.ca.is_some()),
            ("tls.pins", !self.pins.is_empty()),
            ("tls.certificate", self.certificate.is_some()),
            ("tls.key", self.key.is_some()),
            ("tls.key-log", self.key_log),
        ];
        let model = "the simulated plane has no cryptography: nothing is verified, and nothing is secret; remove this key";
        match written.into_iter().find(|(_, written)| *written) {
            Some((key, _)) => Err(Mistake::at(key, model)),
            None => Ok(()),
        }
    }

    /// True if requests go within the handshake, which only a session that is resumed over TLS 1.3 has room
    /// for.
    fn early_data(&self) -> Result<bool, Mistake> {
        let lacking = match (self.resumption, self.versions.contains(&TlsVersion::Tls13)) {
            (true, true) => return Ok(self.early_data),
            (false, _) => "tickets: remove tls.resumption = false, or this key",
            (true, false) => "TLS 1.3: add \"1.3\" to tls.versions, or remove this key",
        };
        match self.early_data {
            false => Ok(false),
            true => {
                Err(Mistake::at("tls.early-data", format!("a request within the handshake needs {lacking}")))
            }
        }
    }

    /// The groups of key exchange that are offered.
    fn groups(&self) -> Result<Vec<Group>, Mistake> {
        let mut groups = Vec::new();
        for name in &self.groups {
            if groups.contains(&name.of_session()) {
                return Err(Mistake::at("tls.groups", "a group stands here twice; remove one of them"));
            }
            groups.push(name.of_session());
        }
        if groups.is_empty() {
            let sentence = "no group of key exchange is offered; write \"x25519\", for example";
            return Err(Mistake::at("tls.groups", sentence));
        }
        let has_tls13 = self.versions.contains(&TlsVersion::Tls13);
        if !has_tls13 && !groups.iter().any(|group| group.is_of_tls12()) {
            let sentence = "TLS 1.2 has none of these groups; offer \"x25519\", or TLS 1.3";
            return Err(Mistake::at("tls.groups", sentence));
        }
        Ok(groups)
    }

    /// The certificates that users have.
    fn identities(&self, load: &mut Load<'_>) -> Result<Option<Identities>, Mistake> {
        let Some(certificate) = &self.certificate else {
            let sentence =
                "a key proves nothing without a certificate; write tls.certificate, or remove this key";
            return self.key.is_none().then_some(None).ok_or_else(|| Mistake::at("tls.key", sentence));
        };
        let mut read = |key: &str, path: &PathBuf| {
            let unreadable = |source| FileError::Unreadable { path: path.clone(), source };
            load(path).map_err(|error| Mistake::in_file(key.to_owned(), &unreadable(error)))
        };
        let certificates = read("tls.certificate", certificate)?;
        let (key, path) = match &self.key {
            Some(path) => ("tls.key", path),
            None => ("tls.certificate", certificate),
        };
        let keys = read(key, path)?;
        let identities = Identities::of_pem(&certificates, &keys, &machine::provider(&Group::ALL));
        identities.map(Some).map_err(|error| {
            let at = if error.is_of_keys() { key } else { "tls.certificate" };
            Mistake::at(at, &error)
        })
    }

    /// Trust in the server's certificate; `None` for the system's roots.
    fn trust(&self, load: &mut Load<'_>) -> Result<Option<Trust>, Mistake> {
        let ways = [("tls.ca", self.ca.is_some()), ("tls.pins", !self.pins.is_empty())];
        if let (false, Some((key, _))) = (self.verify, ways.iter().find(|(_, given)| *given)) {
            return Err(Mistake::at(*key, "nothing is verified with tls.verify = false; remove one of them"));
        }
        if ways.iter().all(|(_, given)| *given) {
            return Err(Mistake::at("tls.pins", "a pin stands in place of roots; remove this key or tls.ca"));
        }
        if !self.verify {
            return Ok(Some(Trust::Anyone));
        }
        if let Some(path) = &self.ca {
            let unreadable = |source| FileError::Unreadable { path: path.clone(), source };
            let pem = load(path).map_err(|error| Mistake::in_file("tls.ca", &unreadable(error)))?;
            let roots = certificates_of_pem(&pem).filter(|roots| !roots.is_empty()).ok_or_else(|| {
                let sentence = "the file has no certificate in PEM (`-----BEGIN CERTIFICATE-----`)";
                Mistake::at("tls.ca", sentence)
            })?;
            return Ok(Some(Trust::Roots(roots)));
        }
        let pins: Result<Vec<Pin>, String> = self.pins.iter().map(|pin| pin.parse()).collect();
        let pins = pins.map_err(|sentence| Mistake::at("tls.pins", sentence))?;
        Ok((!pins.is_empty()).then_some(Trust::Pins(pins)))
    }
}

impl PlannedTls {
    /// The settings of the run's sessions, with the system's roots where no others are named.
    ///
    /// # Errors
    /// If the system has no roots.
    pub fn prepare(self) -> Result<TlsSettings, ScenarioError> {
        let trust = match self.trust.clone() {
            Some(trust) => trust,
            None => machine::system_roots().map_err(ScenarioError::unavailable)?,
        };
        self.settings(trust).map_err(ScenarioError::unavailable)
    }

    fn settings(&self, trust: Trust) -> Result<TlsSettings, SettingsError> {
        let provider = machine::provider(&self.groups);
        let settings = TlsSettings::new(&self.name, trust, &self.versions, self.resumption, provider)?;
        let settings = settings.with_identities(self.identities.clone()).with_early_data(self.early_data);
        Ok(settings.speaking(self.alpn))
    }
}

/// The key that is at fault.
fn error_key(error: &SettingsError) -> &'static str {
    match error {
        SettingsError::Name(_) => "tls.server-name",
        SettingsError::Roots(_) => "tls.ca",
        SettingsError::Versions | SettingsError::Provider(_) => "tls.versions",
    }
}
