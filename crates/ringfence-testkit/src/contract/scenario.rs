use std::fmt;

use super::{
    Access, Fault,
    fleet::{DISABLED, DRAINED, Fleet, NOBODY, OTHERS, PAIR, RELABELLED, REWEIGHTED, TRIO, VARIED},
};

/// One situation that every source is put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scenario {
    /// What is there at the start is seen, with all of its fields.
    InitialSet,
    /// An instance comes.
    Add,
    /// An instance goes.
    Remove,
    /// Only version and tags change.
    TagsOnly,
    /// Only a weight changes.
    WeightOnly,
    /// An instance is disabled, and enabled again.
    Disable,
    /// A weight becomes 0, and the ordinary one again.
    Drain,
    /// Many instances go while many come.
    MassChange,
    /// The last instances go, and others come.
    Empty,
    /// A name that the registry never had, which then comes into being.
    NoSuchService,
    /// One record is no instance.
    Malformed,
    /// The registry is killed and comes back with the data that it had.
    KilledAndRestarted,
    /// The registry is killed and comes back with other data.
    OtherData,
    /// The registry comes back without data, counts from low numbers, and has the same instances registered again.
    LowerIndex,
    /// The registry pauses for a second.
    Slow,
    /// The registry takes connections and answers nothing for a while.
    Hanging,
    /// The credentials are refused, which is no empty list.
    WrongCredentials,
    /// With the right to read alone everything is seen and nothing can be written.
    ReadOnly,
    /// A watch that is dropped leaves nothing open.
    Dropped,
}

/// What is done, or has to be seen, in turn.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Step {
    /// The registry has these instances.
    Set(Fleet),
    /// The service is watched from here on.
    Watch(Access),
    /// These are seen, in time.
    See(Fleet),
    /// No instance, or no such service, is seen, in time.
    SeeNone,
    /// For this many milliseconds nothing else is seen than what was seen last.
    Steady(u64),
    /// A record that is no instance is added.
    AddMalformed,
    /// A record is seen to have been left out, in time.
    SeeRejected,
    /// Something is done to the registry.
    Do(Fault),
    /// Watching and reading fail for want of rights, in time, and no list is seen.
    Refused(Access),
    /// What may only read tries to write, and is refused.
    WriteRefused,
    /// The watch is dropped, and as much is open as before it, within two seconds.
    DropWatch,
}

use self::{
    Access::{Ordinary, ReadOnly, Wrong},
    Fault::{Freeze, Kill, Restart, Thaw, Wipe},
    Step::{
        AddMalformed, Do, DropWatch, Refused, See, SeeNone, SeeRejected, Set, Steady, Watch,
        WriteRefused,
    },
};

impl Scenario {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::InitialSet,
        Self::Add,
        Self::Remove,
        Self::TagsOnly,
        Self::WeightOnly,
        Self::Disable,
        Self::Drain,
        Self::MassChange,
        Self::Empty,
        Self::NoSuchService,
        Self::Malformed,
        Self::KilledAndRestarted,
        Self::OtherData,
        Self::LowerIndex,
        Self::Slow,
        Self::Hanging,
        Self::WrongCredentials,
        Self::ReadOnly,
        Self::Dropped,
    ];

    /// What is done and has to be seen.
    #[must_use]
    pub fn steps(self) -> &'static [Step] {
        match self {
            Self::InitialSet => &[Set(VARIED), Watch(Ordinary), See(VARIED), Steady(500)],
            Self::Add => &[Set(PAIR), Watch(Ordinary), See(PAIR), Set(TRIO), See(TRIO)],
            Self::Remove => &[Set(TRIO), Watch(Ordinary), See(TRIO), Set(PAIR), See(PAIR)],
            Self::TagsOnly => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                Set(RELABELLED),
                See(RELABELLED),
                Set(PAIR),
                See(PAIR),
            ],
            Self::WeightOnly => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                Set(REWEIGHTED),
                See(REWEIGHTED),
                Set(PAIR),
                See(PAIR),
            ],
            Self::Disable => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                Set(DISABLED),
                See(DISABLED),
                Set(PAIR),
                See(PAIR),
            ],
            Self::Drain => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                Set(DRAINED),
                See(DRAINED),
                Set(PAIR),
                See(PAIR),
            ],
            Self::MassChange => &[
                Set(Fleet::Numbered(0, 40)),
                Watch(Ordinary),
                See(Fleet::Numbered(0, 40)),
                Set(Fleet::Numbered(20, 60)),
                See(Fleet::Numbered(20, 60)),
            ],
            Self::Empty => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                Set(NOBODY),
                SeeNone,
                Set(OTHERS),
                See(OTHERS),
            ],
            Self::NoSuchService => &[Watch(Ordinary), SeeNone, Set(PAIR), See(PAIR)],
            Self::Malformed => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                AddMalformed,
                SeeRejected,
                See(PAIR),
                Set(TRIO),
                See(TRIO),
            ],
            Self::KilledAndRestarted => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                Do(Kill),
                Steady(2_000),
                Do(Restart),
                See(PAIR),
                Set(TRIO),
                See(TRIO),
            ],
            Self::OtherData => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                Do(Kill),
                Do(Wipe),
                Set(OTHERS),
                See(OTHERS),
                Set(TRIO),
                See(TRIO),
            ],
            Self::LowerIndex => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                Set(TRIO),
                Set(PAIR),
                Set(TRIO),
                See(TRIO),
                Do(Wipe),
                Set(TRIO),
                See(TRIO),
                Set(RELABELLED),
                See(RELABELLED),
            ],
            Self::Slow => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                Do(Freeze),
                Steady(1_000),
                Do(Thaw),
                Set(TRIO),
                See(TRIO),
            ],
            Self::Hanging => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                Do(Freeze),
                Steady(8_000),
                Do(Thaw),
                See(PAIR),
                Set(TRIO),
                See(TRIO),
            ],
            Self::WrongCredentials => &[Set(PAIR), Refused(Wrong)],
            Self::ReadOnly => &[
                Set(PAIR),
                Watch(ReadOnly),
                See(PAIR),
                WriteRefused,
                Set(TRIO),
                See(TRIO),
            ],
            Self::Dropped => &[
                Set(PAIR),
                Watch(Ordinary),
                See(PAIR),
                DropWatch,
                Watch(Ordinary),
                See(PAIR),
                Set(TRIO),
                See(TRIO),
                DropWatch,
            ],
        }
    }

    /// Whether the registry itself goes away or stops answering.
    #[must_use]
    pub fn has_fault(self) -> bool {
        self.steps().iter().any(|step| matches!(step, Do(_)))
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
