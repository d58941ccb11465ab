//! What is wrong with files, each with its code.

use std::path::Path;

use ringfence_core::ConfigFinding;
use ringfence_discovery::parse_instances_file;
use ringfence_policy::{CompiledPolicy, PolicyContext, PolicyWarning};
use serde::Serialize;

use super::settings;
use crate::{
    failure::Failure,
    input::{policy, read_text},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    Error,
    Warning,
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) file: String,
    pub(super) line: Option<u64>,
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    /// The part of the document.
    pub(super) part: Option<String>,
    pub(super) message: String,
}

impl Severity {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Finding {
    pub(super) fn told(&self) -> String {
        match &self.part {
            Some(part) => format!("{part}: {}", self.message),
            None => self.message.clone(),
        }
    }
}

/// The policy, where it is one. `RF-P001` is a document that is none; the others are legal and have no effect.
pub(super) fn of_policy(
    path: &Path,
    context: &PolicyContext,
    found: &mut Vec<Finding>,
) -> Result<Option<CompiledPolicy>, Failure> {
    let file = path.display().to_string();
    let policy = match policy(path, context)? {
        Ok(policy) => policy,
        Err(error) => {
            found.push(Finding {
                file,
                line: error.line(),
                severity: Severity::Error,
                code: "RF-P001",
                part: Some(error.path().to_owned()).filter(|part| !part.is_empty()),
                message: error.reason().to_owned(),
            });
            return Ok(None);
        }
    };
    found.extend(policy.warnings().iter().map(|warning| {
        let told = warning.to_string();
        let part = warning.path();
        let message = told
            .strip_prefix(part)
            .and_then(|rest| rest.strip_prefix(": "));
        Finding {
            file: file.clone(),
            line: None,
            severity: Severity::Warning,
            code: match warning {
                PolicyWarning::ReleaseUnused { .. } => "RF-P101",
                PolicyWarning::RuleUnreachable { .. } => "RF-P102",
                PolicyWarning::ZoneUnknown { .. } | PolicyWarning::PoolsUnknown { .. } => "RF-P103",
                _ => "RF-P100",
            },
            part: Some(part.to_owned()),
            message: message.unwrap_or(&told).to_owned(),
        }
    }));
    Ok(Some(policy))
}

/// `RF-C001` is a setting that is unknown or out of its range; the others are those of the guide `config`.
pub(super) fn of_settings(path: &Path, found: &mut Vec<Finding>) -> Result<(), Failure> {
    let file = path.display().to_string();
    let text = read_text(path)?;
    let (faults, findings) = settings::check(&text);
    found.extend(faults.into_iter().map(|fault| Finding {
        file: file.clone(),
        line: fault.line,
        severity: Severity::Error,
        code: "RF-C001",
        part: fault.name,
        message: fault.reason,
    }));
    let finding = |finding: ConfigFinding| Finding {
        file: file.clone(),
        line: None,
        severity: match finding.severity() {
            ringfence_core::Severity::Error => Severity::Error,
            _ => Severity::Warning,
        },
        code: finding.code(),
        part: None,
        message: finding.message().to_owned(),
    };
    found.extend(findings.into_iter().map(finding));
    Ok(())
}

/// `RF-I001` is a file that is none of instances, `RF-I002` a record that is no instance, `RF-I101` a service of which nobody takes traffic.
pub(super) fn of_instances(path: &Path, found: &mut Vec<Finding>) -> Result<(), Failure> {
    let text = read_text(path)?;
    let finding = |line, severity, code, part: Option<&str>, message: String| Finding {
        file: path.display().to_string(),
        line,
        severity,
        code,
        part: part.map(ToOwned::to_owned),
        message,
    };
    let file = match parse_instances_file(&text) {
        Ok(file) => file,
        Err(error) => {
            let reason = error.reason().to_owned();
            found.push(finding(
                error.line(),
                Severity::Error,
                "RF-I001",
                None,
                reason,
            ));
            return Ok(());
        }
    };
    for service in file.services() {
        let name = Some(service.name());
        for record in service.rejected() {
            let reason = match &record.id {
                Some(id) => format!("instance `{id}`: {}", record.reason),
                None => record.reason.clone(),
            };
            found.push(finding(
                record.line,
                Severity::Error,
                "RF-I002",
                name,
                reason,
            ));
        }
        if !service
            .instances()
            .iter()
            .any(|instance| instance.takes_traffic())
        {
            let reason =
                "no instance takes traffic: there is none, or all are disabled or have weight 0";
            found.push(finding(
                None,
                Severity::Warning,
                "RF-I101",
                name,
                reason.to_owned(),
            ));
        }
    }
    Ok(())
}
