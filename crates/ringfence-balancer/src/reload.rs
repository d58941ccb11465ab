//! From a document to a policy: the newest text of the source is read, judged beside the task, and set if it is good.

use std::{sync::Arc, time::Duration};

use ringfence_discovery::{
    DiscoveryError, Document, DocumentSource, DocumentWatch, Revision, WatchConfig,
};
use ringfence_policy::{CompiledPolicy, PolicyContext, PolicyDocument, PolicyError};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until},
};
use tracing::{info, warn};

/// The first view waits so long for the source's first word, so that no request goes without the policy that is there.
const FIRST_WORD_LIMIT: Duration = Duration::from_secs(2);
/// Different faults that are logged between two good documents.
const TOLD_FAULTS: usize = 16;

/// Where a balancer gets its policy from, and what became of the newest document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PolicySourceStatus {
    /// Name of the source.
    pub source: Arc<str>,
    /// The source's counter for the newest good document, where it has one.
    pub revision: Option<Revision>,
    /// Why the newest state of the document is not in force; the policy before it is.
    pub fault: Option<PolicyFault>,
    /// Why the source cannot be read now; what it said last stays in force.
    pub read_error: Option<Arc<DiscoveryError>>,
    /// Documents that became a policy.
    pub accepted: u64,
    /// Documents that are no policy.
    pub rejected: u64,
    /// Failures to read.
    pub read_errors: u64,
}

/// Why a state of the policy's document does not become the policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyFault {
    /// There is no document, or none any more.
    #[error("there is no document")]
    Absent,
    /// It is no text.
    #[error("line {line}: not UTF-8")]
    NotText {
        /// The line of the first wrong byte, from 1.
        line: u64,
    },
    /// It is no policy.
    #[error(transparent)]
    Invalid(PolicyError),
    /// Compiling it failed by a fault in the program.
    #[error("compiling it panicked")]
    Panicked,
}

impl PolicyFault {
    /// The line of the fault, from 1, where there is one.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::NotText { line } => Some(*line),
            Self::Invalid(error) => error.line(),
            _ => None,
        }
    }
}

/// A document being judged.
struct Judging {
    document: Document,
    verdict: JoinHandle<Result<CompiledPolicy, PolicyFault>>,
}

pub(crate) struct Reloader {
    watch: DocumentWatch,
    context: PolicyContext,
    judging: Option<Judging>,
    /// What was judged last, since sources may repeat themselves.
    judged: Option<Option<Arc<[u8]>>>,
    /// Until when the first word is awaited.
    first_word_by: Option<Instant>,
    status: PolicySourceStatus,
    /// Faults that the log knows.
    told: Vec<String>,
}

impl Reloader {
    pub(crate) fn new(
        source: Arc<dyn DocumentSource>,
        context: PolicyContext,
        config: &WatchConfig,
    ) -> Self {
        Self {
            status: PolicySourceStatus {
                source: source.name().into(),
                revision: None,
                fault: None,
                read_error: None,
                accepted: 0,
                rejected: 0,
                read_errors: 0,
            },
            watch: DocumentWatch::new(source, config),
            context,
            judging: None,
            judged: None,
            first_word_by: Some(Instant::now() + FIRST_WORD_LIMIT),
            told: Vec::new(),
        }
    }

    pub(crate) fn status(&self) -> &PolicySourceStatus {
        &self.status
    }

    /// Whether the first view is to wait.
    pub(crate) fn awaits_first_word(&self) -> bool {
        self.first_word_by.is_some()
    }

    /// Takes one step and gives the policy that came of it, if one did. A dropped future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Arc<CompiledPolicy>> {
        let silent_until = self.first_word_by;
        let step = async {
            match &mut self.judging {
                Some(judging) => Step::Judged((&mut judging.verdict).await),
                None => Step::Read(self.watch.next().await),
            }
        };
        let step = match silent_until {
            None => step.await,
            Some(at) => tokio::select! {
                biased;
                step = step => step,
                () = sleep_until(at) => {
                    warn!(source = &*self.status.source, "the policy's source says nothing yet and is not waited for");
                    self.first_word_by = None;
                    return None;
                }
            },
        };
        match step {
            Step::Read(Ok(document)) => {
                self.read(document);
                None
            }
            Step::Read(Err(error)) => {
                self.unreadable(error);
                None
            }
            Step::Judged(verdict) => {
                let document = self.judging.take()?.document;
                let verdict = verdict.unwrap_or(Err(PolicyFault::Panicked));
                self.judged(&document, verdict)
            }
        }
    }

    fn read(&mut self, document: Document) {
        if self.status.read_error.take().is_some() {
            info!(
                source = &*self.status.source,
                "the policy's source is read again"
            );
        }
        if self.judged.as_ref() == Some(&document.content) {
            return;
        }
        self.judged = Some(document.content.clone());
        let Some(content) = document.content.clone() else {
            self.first_word_by = None;
            self.fault(PolicyFault::Absent);
            return;
        };
        let context = self.context.clone();
        // A large document takes long enough to be in the way of everything else.
        let verdict = tokio::task::spawn_blocking(move || judge(&content, &context));
        self.judging = Some(Judging { document, verdict });
    }

    fn judged(
        &mut self,
        document: &Document,
        verdict: Result<CompiledPolicy, PolicyFault>,
    ) -> Option<Arc<CompiledPolicy>> {
        self.first_word_by = None;
        match verdict {
            Ok(policy) => {
                self.status.accepted += 1;
                self.status.revision = document.revision;
                self.status.fault = None;
                self.told.clear();
                let revision = document.revision.map(Revision::get);
                info!(
                    source = &*self.status.source,
                    revision, "a new policy was read"
                );
                Some(Arc::new(policy))
            }
            Err(fault) => {
                self.status.rejected += 1;
                self.fault(fault);
                None
            }
        }
    }

    fn fault(&mut self, fault: PolicyFault) {
        if self.is_news(fault.to_string()) {
            warn!(source = &*self.status.source, %fault, "the policy's document is not used, the policy before it stays");
        }
        self.status.fault = Some(fault);
    }

    fn unreadable(&mut self, error: DiscoveryError) {
        self.first_word_by = None;
        self.status.read_errors += 1;
        if self.is_news(error.to_string()) {
            warn!(%error, "the policy's source cannot be read, the policy stays");
        }
        self.status.read_error = Some(Arc::new(error));
    }

    fn is_news(&mut self, fault: String) -> bool {
        let is_news = self.told.len() < TOLD_FAULTS && !self.told.contains(&fault);
        if is_news {
            self.told.push(fault);
        }
        is_news
    }
}

enum Step {
    Read(Result<Document, DiscoveryError>),
    Judged(Result<Result<CompiledPolicy, PolicyFault>, tokio::task::JoinError>),
}

fn judge(content: &[u8], context: &PolicyContext) -> Result<CompiledPolicy, PolicyFault> {
    let text = std::str::from_utf8(content).map_err(|error| {
        let good = content.get(..error.valid_up_to()).unwrap_or_default();
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count() as u64;
        PolicyFault::NotText { line }
    })?;
    PolicyDocument::parse_and_compile(text, context).map_err(PolicyFault::Invalid)
}
