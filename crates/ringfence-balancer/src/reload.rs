//! From a document to a policy: the newest text of the source is read, judged beside the task, and set if it is good.

use std::{sync::Arc, time::Duration};

use ringfence_core::clip;
use ringfence_discovery::{
    DiscoveryError, Document, DocumentSource, DocumentWatch, Revision, ServiceKey, WatchConfig,
};
use ringfence_policy::{CompiledPolicy, PolicyContext, PolicyDocument, PolicyError};
use tokio::{
    sync::watch,
    task::{JoinError, JoinHandle},
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
    /// What the document is called there, such as its path or key; empty where the source does not say.
    pub document: Arc<str>,
    /// The source's counter for the newest good document, where it has one.
    pub revision: Option<Revision>,
    /// Why the newest state of the document is not in force; the policy before it is, if there was one. `None` while the
    /// source cannot be read, since the newest state is not known then.
    pub fault: Option<PolicyFault>,
    /// Why the source cannot be read now; the policy that is in force stays, if there is one.
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

type Verdict = Result<Arc<CompiledPolicy>, PolicyFault>;

/// A document being judged.
struct Judging {
    document: Document,
    verdict: JoinHandle<Verdict>,
}

pub(crate) struct Reloader {
    service: ServiceKey,
    watch: DocumentWatch,
    context: PolicyContext,
    judging: Option<Judging>,
    /// What was judged last, since sources may repeat themselves.
    judged: Option<Option<Arc<[u8]>>>,
    /// Until when the first word is awaited.
    first_word_by: Option<Instant>,
    status: PolicySourceStatus,
    /// What is wrong with the state of the document that was read last.
    fault: Option<PolicyFault>,
    /// What was set last, by whomever.
    policies: watch::Receiver<Option<Arc<CompiledPolicy>>>,
    /// Faults that the log knows.
    told: Vec<String>,
}

impl Reloader {
    pub(crate) fn new(
        service: ServiceKey,
        source: Arc<dyn DocumentSource>,
        context: PolicyContext,
        config: &WatchConfig,
        policies: watch::Receiver<Option<Arc<CompiledPolicy>>>,
    ) -> Self {
        Self {
            service,
            status: PolicySourceStatus {
                source: source.name().into(),
                document: clip(&source.document()).into(),
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
            fault: None,
            policies,
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
                    let PolicySourceStatus { source, document, .. } = &self.status;
                    let stays = self.stays();
                    warn!(service = %self.service, %source, %document, "the policy's source says nothing yet and is not waited for; {stays}");
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
            let PolicySourceStatus {
                source, document, ..
            } = &self.status;
            info!(service = %self.service, %source, %document, "the policy's source is read again");
            self.status.fault = self.fault.clone();
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

    fn judged(&mut self, document: &Document, verdict: Verdict) -> Option<Arc<CompiledPolicy>> {
        self.first_word_by = None;
        match verdict {
            Ok(policy) => {
                self.status.accepted += 1;
                self.status.revision = document.revision;
                self.fault = None;
                self.status.fault = None;
                self.told.clear();
                let revision = document.revision.map(Revision::get);
                let PolicySourceStatus {
                    source, document, ..
                } = &self.status;
                info!(service = %self.service, %source, %document, revision, "a new policy was read");
                Some(policy)
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
            let PolicySourceStatus {
                source, document, ..
            } = &self.status;
            let stays = self.stays();
            warn!(service = %self.service, %source, %document, %fault, "the policy's document is not used; {stays}");
        }
        self.fault = Some(fault);
        self.status.fault = self.fault.clone();
    }

    fn unreadable(&mut self, error: DiscoveryError) {
        self.first_word_by = None;
        self.status.read_errors += 1;
        if self.is_news(error.to_string()) {
            let document = &self.status.document;
            let stays = self.stays();
            warn!(service = %self.service, %document, %error, "the policy's source cannot be read; {stays}");
        }
        self.status.fault = None;
        self.status.read_error = Some(Arc::new(error));
    }

    /// What a fault leaves in force.
    fn stays(&self) -> &'static str {
        if self.policies.borrow().is_some() {
            "the policy before it stays"
        } else {
            "no policy is in force, so requests are routed as without one"
        }
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
    Judged(Result<Verdict, JoinError>),
}

fn judge(content: &[u8], context: &PolicyContext) -> Verdict {
    let text = std::str::from_utf8(content).map_err(|error| {
        let good = content.get(..error.valid_up_to()).unwrap_or_default();
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count() as u64;
        PolicyFault::NotText { line }
    })?;
    PolicyDocument::parse_and_compile(text, context)
        .map(Arc::new)
        .map_err(PolicyFault::Invalid)
}
