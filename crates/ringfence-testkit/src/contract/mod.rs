//! What every discovery source has to do, as scenarios that run against any of them.
//!
//! A [`Subject`] is a source together with its registry: how to write there, make it fail, and which scenarios it cannot do,
//! each with a reason. [`contract_tests!`](crate::contract_tests) makes one test of each [`Scenario`].
//!
//! A scenario is a list of steps ([`Scenario::steps`]). The source is watched through a
//! [`Supervisor`](ringfence_discovery::Supervisor) that neither resyncs nor probes, so what is seen came through its watch.
//! All along, nothing may be seen that was never in the registry, and an error must not be seen as a list.

mod fleet;
mod outcome;
mod registered;
mod run;
mod scenario;
mod subject;

pub use self::{
    fleet::{Fleet, Member},
    outcome::Outcome,
    registered::Registered,
    run::run,
    scenario::{Scenario, Step},
    subject::{Access, Fault, Subject},
};

/// Makes a test of each [`Scenario`](crate::contract::Scenario), in a module of the given name, each with a subject of its own.
///
/// The expression is an async closure or function without arguments that gives `io::Result<impl Subject>`.
///
/// ```
/// # use std::io;
/// # use ringfence_testkit::contract::Subject;
/// # async fn start() -> io::Result<Box<dyn Subject>> { Err(io::Error::other("an example")) }
/// ringfence_testkit::contract_tests!(of_my_source, start);
/// ```
#[macro_export]
macro_rules! contract_tests {
    ($module:ident, $start:expr) => {
        mod $module {
            #[allow(unused_imports)]
            use super::*;

            $crate::contract_tests!(@each $start;
                initial_set InitialSet, add Add, remove Remove, tags_only TagsOnly, weight_only WeightOnly,
                disable Disable, drain Drain, mass_change MassChange, empty Empty, no_such_service NoSuchService,
                malformed Malformed, killed_and_restarted KilledAndRestarted, other_data OtherData,
                lower_index LowerIndex, slow Slow, hanging Hanging, wrong_credentials WrongCredentials,
                read_only ReadOnly, dropped Dropped,
            );
        }
    };
    (@each $start:expr; $($name:ident $scenario:ident,)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                let mut subject = ($start)().await.expect("the subject starts");
                let scenario = $crate::contract::Scenario::$scenario;
                match $crate::contract::run(scenario, &mut subject).await {
                    Ok(outcome) => println!("{scenario}: {outcome}"),
                    Err(fault) => panic!("{scenario}: {fault}"),
                }
            }
        )+

        #[test]
        fn every_scenario_has_a_test() {
            let here = [$($crate::contract::Scenario::$scenario),+];
            assert_eq!(here.as_slice(), $crate::contract::Scenario::ALL);
        }
    };
}
