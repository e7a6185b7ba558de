//! The site that a scenario requests, and the built-in server, which has it as files.

use super::Scenario;
use super::mistake::Mistake;
use crate::ScenarioError;
use crate::site_folder;
use farfield_engine::PlaneKind;
use farfield_files::{TempDir, temporary_folder};
use farfield_origin::OriginConfig;
use farfield_traffic::file::Load;
use farfield_traffic::site::Site;

/// Settings and files of the built-in server.
pub struct BuiltIn {
    pub config: OriginConfig,
    /// The files that it serves, which are gone with this; it reads them when it starts.
    pub files: Option<TempDir>,
    /// A sentence on what the files lack of the site.
    pub left_out: Option<String>,
}

impl Scenario {
    /// The site that is requested, if one is.
    pub fn asked_site(&self, load: &mut Load<'_>) -> Result<Option<Site>, Mistake> {
        let Some((source, seed)) = self.requests.as_ref().and_then(|requests| requests.site()) else {
            return Ok(None);
        };
        let site = source.site(load, seed);
        site.map(Some).map_err(|error| Mistake::in_file("requests", &error))
    }

    /// The built-in server, with the files of the requested `site` if it is to serve them.
    pub fn built_in(&self, site: Option<&Site>) -> Result<BuiltIn, ScenarioError> {
        let mut config = self.origin.clone().unwrap_or_default();
        let elsewhere = self.plane == PlaneKind::Simulated || self.target.is_some() || self.is_started();
        if elsewhere || config.root.is_some() {
            return Ok(BuiltIn { config, files: None, left_out: None });
        }
        let Some(site) = site else { return Ok(BuiltIn { config, files: None, left_out: None }) };
        let failed =
            |what: String| ScenarioError::unavailable(format!("cannot write the site to serve: {what}"));
        let files = temporary_folder("farfield-site-").map_err(|error| failed(error.to_string()))?;
        let made = site_folder::write(site, files.path())
            .map_err(|(path, error)| failed(format!("{}: {error}", path.display())))?;
        config.root = Some(files.path().to_owned());
        Ok(BuiltIn { config, files: Some(files), left_out: made.left_out() })
    }

    /// True if the scenario says how to start a server, or which one runs.
    pub fn is_started(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.command.is_some() || server.location().is_some())
    }
}
