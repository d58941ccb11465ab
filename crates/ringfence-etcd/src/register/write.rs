//! The calls that write.

use std::sync::Arc;

use etcd_client::{Client, Compare, CompareOp, Error, GetOptions, PutOptions, Txn, TxnOp};

use crate::connection::{Failure, Fault, Link, Pool};

/// What was under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing.
    Nothing,
    /// Our record.
    Own,
    /// A record with our lease that was written later than ours: a write that was given up and carried out in the end.
    Late,
    /// The record of somebody else's lease.
    Other,
    /// A record that no lease will ever end.
    Unleased,
}

pub(super) async fn grant(pool: &Pool) -> Result<(i64, Arc<Link>), Failure> {
    let ttl = i64::try_from(pool.config().lease_ttl.as_secs()).unwrap_or(i64::MAX);
    let grant = |client: Client| async move {
        Ok::<_, Error>(client.lease_client().grant(ttl, None).await?.id())
    };
    pool.call("granting a lease", grant).await
}

pub(super) async fn keep_alive(pool: &Pool, lease: i64) -> Result<Arc<Link>, Failure> {
    // One short stream each time: it goes to whichever server works now.
    let renew = |client: Client| async move {
        client.lease_client().keep_alive(lease).await?;
        Ok::<_, Error>(())
    };
    Ok(pool.call("renewing a lease", renew).await?.1)
}

pub(super) async fn revoke(pool: &Pool, lease: i64) -> Result<(), Failure> {
    let revoke = |client: Client| async move {
        client.lease_client().revoke(lease).await?;
        Ok::<_, Error>(())
    };
    match pool.call("revoking a lease", revoke).await {
        Err(failure) if failure.fault != Fault::NoLease => Err(failure),
        _ => Ok(()),
    }
}

/// Writes a record; returns the revision that has it.
pub(super) async fn put(pool: &Pool, key: &str, value: &[u8], lease: i64) -> Result<i64, Failure> {
    let put = |client: Client| {
        let (key, value) = (key.to_owned(), value.to_vec());
        async move {
            let options = PutOptions::new().with_lease(lease);
            let answer = client.kv_client().put(key, value, Some(options)).await?;
            // Without a number nothing can be told to be later.
            Ok::<_, Error>(answer.header().map_or(i64::MAX, |header| header.revision()))
        }
    };
    Ok(pool.call("writing a record", put).await?.0)
}

/// Whose record is under a key, which was last written at `revision`.
pub(super) async fn find(
    pool: &Pool,
    key: &str,
    lease: i64,
    revision: i64,
) -> Result<Found, Failure> {
    let find = |client: Client| {
        let key = key.to_owned();
        async move {
            let options = GetOptions::new().with_keys_only();
            let answer = client.kv_client().get(key, Some(options)).await?;
            Ok::<_, Error>(match answer.kvs().first() {
                None => Found::Nothing,
                Some(kv) if kv.lease() == 0 => Found::Unleased,
                Some(kv) if kv.lease() != lease => Found::Other,
                Some(kv) if kv.mod_revision() > revision => Found::Late,
                Some(_) => Found::Own,
            })
        }
    };
    Ok(pool.call("checking a record", find).await?.0)
}

/// Deletes the record if it is ours.
pub(super) async fn delete_own(pool: &Pool, key: &str, lease: i64) -> Result<(), Failure> {
    let delete = |client: Client| {
        let key = key.to_owned();
        async move {
            let txn = Txn::new()
                .when([Compare::lease(key.clone(), CompareOp::Equal, lease)])
                .and_then([TxnOp::delete(key, None)]);
            client.kv_client().txn(txn).await?;
            Ok::<_, Error>(())
        }
    };
    pool.call("removing a record", delete).await?;
    Ok(())
}
