//! Reading all keys of a range, in pages of one revision.

use std::sync::Arc;

use etcd_client::{Client, GetOptions, GetResponse};

use super::mirror::{Change, Mirror};
use crate::connection::{Failure, Fault, Link, Pool};

/// Largest answer that is taken. A page that is larger is read in smaller parts.
pub(super) const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Fills an empty mirror with what is there now; returns the link it was read over.
pub(crate) async fn list<M: Mirror>(pool: &Pool, mirror: &mut M) -> Result<Arc<Link>, Failure> {
    let mut page = Page {
        what: M::WHAT,
        start: mirror.start().to_vec(),
        end: mirror.end(),
        revision: 0,
        limit: i64::from(pool.config().page_size),
        keys_only: false,
    };
    loop {
        let (answer, link) = match page.read(pool).await {
            Err(failure) if failure.fault == Fault::TooLarge && page.limit > 1 => {
                page.limit = (page.limit / 4).max(1);
                continue;
            }
            // One value alone is too large: only its key is read.
            Err(failure) if failure.fault == Fault::TooLarge && !page.keys_only => {
                page.keys_only = true;
                continue;
            }
            other => other?,
        };
        let Some(header) = answer.header() else {
            return Err(Failure::new(Fault::Protocol, "an answer without a header"));
        };
        if page.revision == 0 {
            page.revision = header.revision();
            mirror.reached(page.revision);
        }
        for kv in answer.kvs() {
            let change = match page.keys_only {
                true => Change::Unreadable,
                false => Change::Put(kv.value(), kv.mod_revision()),
            };
            mirror.apply(kv.key(), change)?;
        }
        page.keys_only = false;
        // Large values tend to be few.
        page.limit = (page.limit * 2).min(i64::from(pool.config().page_size));
        match answer.kvs().last() {
            Some(last) if answer.more() && last.key() >= page.start.as_slice() => {
                page.start = last.key().to_vec();
                page.start.push(0);
            }
            _ if answer.more() => {
                return Err(Failure::new(Fault::Protocol, "a page that leads nowhere"));
            }
            _ => return Ok(link),
        }
    }
}

struct Page {
    what: &'static str,
    start: Vec<u8>,
    end: Vec<u8>,
    /// 0 for the first page: the newest.
    revision: i64,
    limit: i64,
    keys_only: bool,
}

impl Page {
    async fn read(&self, pool: &Pool) -> Result<(GetResponse, Arc<Link>), Failure> {
        let mut options = GetOptions::new()
            .with_range(self.end.clone())
            .with_limit(self.limit)
            .with_revision(self.revision);
        if self.keys_only {
            options = options.with_keys_only();
        }
        let read = |client: Client| {
            let (start, options) = (self.start.clone(), options.clone());
            async move {
                let mut kv = client.kv_client().max_decoding_message_size(MAX_MESSAGE);
                kv.get(start, Some(options)).await
            }
        };
        pool.call(self.what, read).await
    }
}

/// The first key after all that start with `prefix`.
pub(super) fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    // etcd's word for "to the end of all keys".
    vec![0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_ends_after_the_prefix() {
        assert_eq!(prefix_end(b"/svc/a/"), b"/svc/a0");
        assert_eq!(prefix_end(b"a\xff"), b"b");
        assert_eq!(prefix_end(b"\xff"), [0]);
    }
}
