//! The records of one service, decoded, and the state that they make.

use std::{collections::BTreeMap, sync::Arc};

use ringfence_core::{Instance, Snapshot};
use ringfence_discovery::{Provenance, RejectedRecord, ServiceKey, Update};

use super::{
    list::prefix_end,
    mirror::{Change, Mirror},
};
use crate::{
    Codec, NAME, Record,
    clip::clip,
    connection::{Failure, Fault},
};

/// What a key stands for.
#[derive(Debug)]
enum Entry {
    Instance(Instance),
    /// A record of something else, such as of a service whose name goes on.
    Foreign,
    Rejected(RejectedRecord),
}

/// All records under the prefix of a service. Each value is decoded once, for itself alone: nothing of one record can stick to
/// another, and of a record that turned bad nothing old is kept.
#[derive(Debug)]
pub(crate) struct View {
    codec: Arc<dyn Codec>,
    service: ServiceKey,
    prefix: String,
    max_keys: usize,
    max_value_len: usize,
    entries: BTreeMap<Vec<u8>, Entry>,
    revision: u64,
    /// Made of `entries` as they are: a sign of life alone makes nothing anew.
    snapshot: Option<Arc<Snapshot>>,
}

impl View {
    pub(crate) fn new(
        codec: Arc<dyn Codec>,
        service: ServiceKey,
        prefix: String,
        max_keys: usize,
        max_value_len: usize,
    ) -> Self {
        Self {
            codec,
            service,
            prefix,
            max_keys,
            max_value_len,
            entries: BTreeMap::new(),
            revision: 0,
            snapshot: None,
        }
    }

    /// A key was set to a value.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let entry = if value.len() > self.max_value_len {
            let (len, max) = (value.len(), self.max_value_len);
            self.reject(key, format!("the value has {len} bytes, more than {max}"))
        } else {
            self.decode(key, value)
        };
        self.insert(key, entry)
    }

    /// A key has a value that is too long to be read.
    fn put_unreadable(&mut self, key: &[u8]) -> Result<(), Failure> {
        let entry = self.reject(key, "the value is too long to be read".to_owned());
        self.insert(key, entry)
    }

    /// A key was deleted.
    fn remove(&mut self, key: &[u8]) {
        self.entries.remove(key);
        self.snapshot = None;
    }

    fn insert(&mut self, key: &[u8], entry: Entry) -> Result<(), Failure> {
        // A server that answers with other keys than were asked for does no harm.
        if !key.starts_with(self.prefix.as_bytes()) {
            return Ok(());
        }
        self.entries.insert(key.to_vec(), entry);
        self.snapshot = None;
        if self.entries.len() > self.max_keys {
            let message = format!("more than {} keys under `{}`", self.max_keys, self.prefix);
            return Err(Failure::new(Fault::Limit, message));
        }
        Ok(())
    }

    fn decode(&self, key: &[u8], value: &[u8]) -> Entry {
        let name = key.get(self.prefix.len()..).unwrap_or_default();
        let Ok(name) = std::str::from_utf8(name) else {
            return self.reject(key, "the key is not UTF-8".to_owned());
        };
        if name.is_empty() {
            return self.reject(key, "the key names no instance".to_owned());
        }
        match self.codec.decode(&Record::new(&self.service, name, value)) {
            Ok(Some(instance)) => Entry::Instance(instance),
            Ok(None) => Entry::Foreign,
            Err(error) => self.reject(key, clip(&error.to_string())),
        }
    }

    fn reject(&self, key: &[u8], reason: String) -> Entry {
        let name = key.get(self.prefix.len()..).unwrap_or_default();
        let name = clip(&String::from_utf8_lossy(name));
        tracing::debug!(service = %self.service, record = %name, %reason, "record left out");
        Entry::Rejected(RejectedRecord::new(reason).with_id(name))
    }

    /// The whole state.
    fn update(&mut self, origin: &str) -> Update {
        let entries = &self.entries;
        let snapshot = self.snapshot.get_or_insert_with(|| {
            let instances = entries.values().filter_map(|entry| match entry {
                Entry::Instance(instance) => Some(instance.clone()),
                Entry::Foreign | Entry::Rejected(_) => None,
            });
            Arc::new(Snapshot::new(instances))
        });
        let rejected = self.entries.values().filter_map(|entry| match entry {
            Entry::Rejected(record) => Some(record.clone()),
            Entry::Foreign | Entry::Instance(_) => None,
        });
        Update::snapshot(Arc::clone(snapshot), Provenance::live(origin))
            .with_revision(self.revision)
            .with_rejected(rejected.collect())
    }
}

impl Mirror for View {
    type Whole = Update;
    const WHAT: &str = "reading the instances";

    fn start(&self) -> &[u8] {
        self.prefix.as_bytes()
    }

    fn end(&self) -> Vec<u8> {
        prefix_end(self.prefix.as_bytes())
    }

    fn revision(&self) -> u64 {
        self.revision
    }

    fn reached(&mut self, revision: i64) {
        self.revision = self.revision.max(u64::try_from(revision).unwrap_or(0));
    }

    fn apply(&mut self, key: &[u8], change: Change<'_>) -> Result<(), Failure> {
        match change {
            Change::Put(value, _) => self.put(key, value),
            Change::Unreadable => self.put_unreadable(key),
            Change::Deleted => {
                self.remove(key);
                Ok(())
            }
        }
    }

    fn whole(&mut self) -> Update {
        self.update(NAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NativeCodec;

    fn view(max_keys: usize) -> View {
        let service = ServiceKey::new("order");
        View::new(
            Arc::new(NativeCodec::default()),
            service,
            "/r/".into(),
            max_keys,
            64,
        )
    }

    const GOOD: &[u8] = br#"{"v":1,"address":"10.0.0.1:80"}"#;

    #[test]
    fn a_bad_value_takes_the_good_one_with_it_and_nothing_else() {
        let mut view = view(10);
        view.put(b"/r/a", GOOD).expect("room");
        view.put(b"/r/b", GOOD).expect("room");
        assert_eq!(view.update("etcd").state.instance_count(), 2);
        view.put(b"/r/a", b"{").expect("room");
        let update = view.update("etcd");
        assert_eq!(update.state.instance_count(), 1);
        assert_eq!(update.rejected.len(), 1);
        assert_eq!(update.rejected[0].id.as_deref(), Some("a"));
        view.remove(b"/r/a");
        assert_eq!(view.update("etcd").rejected, []);
    }

    #[test]
    fn odd_keys_and_long_values_are_left_out() {
        let mut view = view(10);
        view.put(b"/r/\xff\xfe", GOOD).expect("room");
        view.put(b"/r/", GOOD).expect("room");
        view.put(b"/r/long", &[b'x'; 65]).expect("room");
        view.put(b"/r/a/b", GOOD).expect("room");
        view.put(b"/elsewhere/a", GOOD).expect("ignored");
        view.put(b"/r", GOOD).expect("ignored");
        let update = view.update("etcd");
        assert_eq!(update.state.instance_count(), 0);
        let reasons: Vec<_> = update
            .rejected
            .iter()
            .map(|record| &*record.reason)
            .collect();
        assert_eq!(
            reasons,
            [
                "the key names no instance",
                "the value has 65 bytes, more than 64",
                "the key is not UTF-8"
            ]
        );
    }

    #[test]
    fn too_many_keys_are_an_error_and_no_cut_list() {
        let mut view = view(2);
        view.put(b"/r/a", GOOD).expect("room");
        view.put(b"/r/b", GOOD).expect("room");
        view.put(b"/r/b", GOOD).expect("no new key");
        assert_eq!(
            view.put(b"/r/c", GOOD).expect_err("one too many").fault,
            Fault::Limit
        );
    }
}
