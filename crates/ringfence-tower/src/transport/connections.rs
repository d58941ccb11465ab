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
}

impl Connections {
    /// `open` connections now, `made` of them since the instance is known, those included that are closed again.
    #[must_use]
    pub fn new(open: usize, made: u64) -> Self {
        Self { open, made }
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
}
