//! The policy as a file, as an operator changes it.

use std::{fs, path::PathBuf, time::Duration};

use ringfence::{Balancer, FileDocument, GrayTag, PolicyContext, PolicyDocument, TagAuthority};
use ringfence_examples::{BoxError, until};
use tempfile::TempDir;

/// The release's name.
pub(crate) const RELEASE: &str = "checkout-v2";
/// The tenant that tries every release first.
pub(crate) const PILOT: &str = "pilot";

pub(crate) struct PolicyFile {
    folder: TempDir,
    authority: TagAuthority,
}

impl PolicyFile {
    /// With a release that nobody is in yet but the pilot.
    pub(crate) fn create() -> Result<Self, BoxError> {
        let file = Self {
            folder: TempDir::new()?,
            authority: TagAuthority::new(),
        };
        file.write(&Self::text(0, true))?;
        Ok(file)
    }

    pub(crate) fn source(&self) -> Result<FileDocument, BoxError> {
        Ok(FileDocument::new(self.path()).with_poll_interval(Duration::from_millis(100))?)
    }

    pub(crate) fn context(&self) -> PolicyContext {
        PolicyContext::new().with_authority(&self.authority)
    }

    pub(crate) fn authority(&self) -> &TagAuthority {
        &self.authority
    }

    /// What puts a tester into the release.
    pub(crate) fn tester(&self) -> GrayTag {
        self.authority.gray(RELEASE, "tester@example")
    }

    /// What the file says for a percentage.
    pub(crate) fn text(percent: u8, enabled: bool) -> String {
        format!(
            "ringfence: 1
gray:
  {RELEASE}: {{ to: {{ version: gray }}, percent: {percent}, tenants: [{PILOT}], enabled: {enabled} }}
rules:
  - name: checkout
    match: [{{ grpc: {{ service: ringfence.echo.v1.Echo }} }}]
    tags_from_headers: {{ x-version: {{ tag: version }} }}
    key: [{{ header: x-user }}]
    gray: [{RELEASE}]
"
        )
    }

    /// Rewrites the file, and waits until the balancer decides by it.
    pub(crate) async fn change(&self, text: &str, balancer: &Balancer) -> Result<(), BoxError> {
        self.write(text)?;
        let document = PolicyDocument::parse(text)?;
        until("the new policy is in force", || {
            balancer
                .policy()
                .is_some_and(|policy| *policy.document() == document)
        })
        .await
    }

    /// At once, so that no half of it is ever read.
    pub(crate) fn write(&self, text: &str) -> Result<(), BoxError> {
        let new = self.folder.path().join("policy.yaml.new");
        fs::write(&new, text)?;
        Ok(fs::rename(new, self.path())?)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("policy.yaml")
    }
}
