//! What a transport knows of its connections.

/// The connections to one instance at one moment.
///
/// ```
/// use ringfence_tower::Connections;
///
/// let before = Connections::new(0, 7);
/// assert!(!before.may_have_sent(Connections::new(0, 7)));
/// assert!(before.may_have_sent(Connections::new(1, 8)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Connections {
    open: usize,
    made: u64,
    reads: u64,
}

impl Connections {
    /// `open` connections now, `made` of them since the instance is known, those included that are closed again.
    #[must_use]
    pub fn new(open: usize, made: u64) -> Self {
        let reads = 0;
        Self { open, made, reads }
    }

    /// How often anything was received on any of them; default 0.
    #[must_use]
    pub fn with_reads(mut self, reads: u64) -> Self {
        self.reads = reads;
        self
    }

    /// Connections that are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open
    }

    /// Connections that were ever made.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Whether a request can have been written between this moment and a later one: there was a connection, or one was made.
    #[must_use]
    pub fn may_have_sent(&self, later: Self) -> bool {
        self.open > 0 || later.made != self.made
    }

    /// Whether a connection that broke between this moment and a later one had been there before, and brought nothing in between:
    /// as far as can be told it was closed while nobody used it, which its peer may do at any time.
    ///
    /// ```
    /// use ringfence_tower::Connections;
    ///
    /// let before = Connections::new(1, 7).with_reads(40);
    /// assert!(before.was_idle(Connections::new(0, 7).with_reads(40)));
    /// assert!(!before.was_idle(Connections::new(0, 7).with_reads(41)), "an answer had begun");
    /// assert!(!before.was_idle(Connections::new(1, 8).with_reads(40)), "it was made for this request");
    /// ```
    #[must_use]
    pub fn was_idle(&self, later: Self) -> bool {
        self.open > 0 && later.made == self.made && later.reads == self.reads
    }
}
