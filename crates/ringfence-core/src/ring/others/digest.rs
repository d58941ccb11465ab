//! What of an algorithm and its hosts goes into a ring's fingerprint, see [`Fingerprint`](crate::Fingerprint).

use super::hosts::{Host, Hosts};
use crate::{
    instance::InstanceId,
    ring::{HashAlgorithm, HostOrder, KetamaVariant, PointHash, RingConfig},
};

impl Hosts {
    pub(in crate::ring) fn digest(&self, config: &RingConfig, update: &mut dyn FnMut(&[u8])) {
        let mut numbers = |numbers: &[u32]| {
            numbers.iter().for_each(|n| update(&n.to_le_bytes()));
        };
        match config.algorithm() {
            HashAlgorithm::EnvoyRing(ring) => numbers(&[
                ring.min_ring_size(),
                ring.max_ring_size(),
                u32::from(ring.host_order() == HostOrder::Sorted),
                u32::from(ring.hash() == PointHash::MurmurHash2),
            ]),
            HashAlgorithm::Maglev(maglev) => numbers(&[maglev.table_size()]),
            HashAlgorithm::Ketama(ketama) => {
                let variant = match ketama.variant() {
                    KetamaVariant::Libketama => 0,
                    KetamaVariant::Twemproxy => 1,
                    KetamaVariant::Dubbo => 2,
                };
                numbers(&[variant, config.max_ring_points()]);
            }
            HashAlgorithm::Jump(jump) => match jump.buckets() {
                Some(buckets) => {
                    length(buckets.len(), update);
                    buckets.iter().for_each(|id| text(id.as_str(), update));
                }
                None => {
                    length(self.order.len(), update);
                    self.ordered()
                        .for_each(|(_, host)| text(host.id.as_str(), update));
                }
            },
            HashAlgorithm::Slots(slots) => {
                if let Some(table) = slots.table() {
                    length(table.ranges().len(), update);
                    for (slots, id) in table.ranges() {
                        let id: &InstanceId = id;
                        update(&u32::from(*slots.start()).to_le_bytes());
                        update(&u32::from(*slots.end()).to_le_bytes());
                        text(id.as_str(), update);
                    }
                } else {
                    // No table is not a table without ranges, whose slots all go by score.
                    update(&u32::MAX.to_le_bytes());
                }
            }
            HashAlgorithm::Ring | HashAlgorithm::Nginx(_) | HashAlgorithm::Rendezvous => {}
        }
        let has_counts = matches!(config.algorithm(), HashAlgorithm::Nginx(_));
        let mut host = |host: &Host| {
            if host.weight > 0 {
                text(host.id.as_str(), update);
                text(&host.key, update);
                update(&host.weight.to_le_bytes());
                if has_counts {
                    update(&host.points.to_le_bytes());
                }
            }
        };
        if self.order.is_empty() {
            self.list.iter().for_each(host);
        } else {
            self.ordered().for_each(|(_, one)| host(one));
        }
    }
}

/// Lengths are of ids, tags and lists that were checked to be short.
fn length(length: usize, update: &mut dyn FnMut(&[u8])) {
    update(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn text(text: &str, update: &mut dyn FnMut(&[u8])) {
    length(text.len(), update);
    update(text.as_bytes());
}
