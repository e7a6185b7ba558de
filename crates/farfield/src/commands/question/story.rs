//! Charts and tables of a question.

use super::claims::EachKey;
use super::curves::{CURVE, setting};
use super::document::{column, pairs};
use farfield_report::sweep::column::Column;
use farfield_report::sweep::story::{ChartPlan, TablePlan};
use serde::Deserialize;

/// `[[chart]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedChart {
    title: Option<String>,
    x: String,
    /// The name of `x` on the axis.
    label: Option<String>,
    y: String,
    lines: Option<String>,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    at: toml::Table,
    #[serde(default)]
    scale: AxisScale,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AxisScale {
    #[default]
    Linear,
    Log,
}

/// `[[table]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedTable {
    #[serde(default)]
    says: String,
    columns: Vec<String>,
}

impl AskedChart {
    /// The chart, of these columns.
    pub fn read(&self, columns: &[Column], keys: &EachKey) -> Result<ChartPlan, String> {
        let y = known(&self.y, columns).map_err(|why| format!("chart: {why}"))?;
        for key in std::iter::once(&self.x).chain(&self.lines) {
            if !keys.has(key) {
                return Err(format!("chart: `{}` is not varied", key.escape_debug()));
            }
        }
        let at = pairs(&self.at).map_err(|why| format!("chart: {why}"))?;
        let has_curves = self.x != CURVE && keys.has(CURVE);
        Ok(ChartPlan {
            title: self.title.clone(),
            x: self.x.clone(),
            label: self.label.clone(),
            y,
            lines: self.lines.clone().or_else(|| has_curves.then(|| CURVE.to_owned())),
            only: self.only.clone(),
            at: at.iter().map(|(key, value)| setting(key, value)).collect(),
            is_log: self.scale == AxisScale::Log,
        })
    }
}

impl AskedTable {
    /// The table, of these columns.
    pub fn read(&self, columns: &[Column]) -> Result<TablePlan, String> {
        let names = self.columns.iter().map(|name| known(name, columns));
        let names = names.collect::<Result<Vec<_>, _>>().map_err(|why| format!("table: {why}"))?;
        match names.is_empty() {
            true => Err("table: write at least one column".to_owned()),
            false => Ok(TablePlan { says: self.says.clone(), columns: names }),
        }
    }
}

/// The name of a column that is read already.
fn known(name: &str, columns: &[Column]) -> Result<String, String> {
    let mut all = columns.to_vec();
    let count = all.len();
    let column = column(name, &mut all)?;
    match all.len() == count {
        true => Ok(column.info.name),
        false => Err(format!("`{}` is no column: write a [[column]] of it", name.escape_debug())),
    }
}
