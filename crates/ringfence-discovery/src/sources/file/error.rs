/// Why a text is no instances file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", place(*.line, *.column))]
pub struct InstancesFileError {
    line: Option<u64>,
    column: Option<u64>,
    reason: String,
}

impl InstancesFileError {
    pub(super) fn new(line: Option<u64>, column: Option<u64>, reason: impl Into<String>) -> Self {
        Self {
            line,
            column,
            reason: reason.into(),
        }
    }

    /// The line of the fault, from 1, where there is one.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// The column of the fault in characters, from 1, where there is one.
    #[must_use]
    pub fn column(&self) -> Option<u64> {
        self.column
    }

    /// What is wrong there.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

fn place(line: Option<u64>, column: Option<u64>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: "),
        (Some(line), None) => format!("line {line}: "),
        _ => String::new(),
    }
}
