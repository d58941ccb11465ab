//! nginx's `ngx_http_upstream_hash_module`, consistent variant.

use crc32fast::Hasher;

use super::{hosts::Hosts, sorted::SortedRing};

pub(super) fn build(hosts: &Hosts, seed: u64) -> SortedRing<u32> {
    let count = hosts.list.iter().map(|host| host.points as usize).sum();
    let mut points = Vec::with_capacity(count);
    for (member, host) in hosts.weighted() {
        let (name, port) = divided(&host.key);
        let mut base = Hasher::new();
        base.update(name.as_bytes());
        base.update(&[0]);
        base.update(port.as_bytes());
        if seed != 0 {
            base.update(&seed.to_le_bytes());
        }
        let mut point = 0_u32;
        for _ in 0..host.points {
            let mut hasher = base.clone();
            hasher.update(&point.to_le_bytes());
            point = hasher.finalize();
            points.push((point, member));
        }
    }
    SortedRing::new(points)
}

/// Host and port of a server, as nginx divides it: at the last colon, where nothing but digits follows.
fn divided(server: &str) -> (&str, &str) {
    if let Some((scheme, path)) = server.split_at_checked("unix:".len())
        && scheme.eq_ignore_ascii_case("unix:")
    {
        return (path, "");
    }
    match server.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, port),
        _ => (server, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_divided_as_nginx_does() {
        for (server, parts) in [
            ("10.0.0.1:8080", ("10.0.0.1", "8080")),
            ("[::1]:8080", ("[::1]", "8080")),
            ("backend.internal", ("backend.internal", "")),
            ("backend:http", ("backend:http", "")),
            ("backend:", ("backend", "")),
            ("[::1]", ("[::1]", "")),
            ("unix:/run/a.sock", ("/run/a.sock", "")),
            ("UNIX:/run/a:80", ("/run/a:80", "")),
            ("", ("", "")),
        ] {
            assert_eq!(divided(server), parts, "{server}");
        }
    }
}
