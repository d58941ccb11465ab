//! The ring alone, beside `pingora-ketama` and `hashring` with as many points.

mod change;
mod lookup;
mod memory;
mod parity;
mod peers;
mod shares;
mod walk;

use crate::{data, goals::Row};

pub(crate) use self::{memory::allocations, peers::pingora, shares::measure as shares};

pub(crate) fn measure(steady: bool) -> Vec<Row> {
    let keys = data::keys();
    let mut rows = memory::measure(&keys);
    if !steady {
        rows.extend(lookup::measure(&keys));
        rows.extend(walk::measure(&keys));
        rows.extend(change::measure());
    }
    rows
}
