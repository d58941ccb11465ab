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

pub(super) async fn put(pool: &Pool, key: &str, value: &[u8], lease: i64) -> Result<(), Failure> {
    let put = |client: Client| {
        let (key, value) = (key.to_owned(), value.to_vec());
        async move {
            let options = PutOptions::new().with_lease(lease);
            client.kv_client().put(key, value, Some(options)).await?;
            Ok::<_, Error>(())
        }
    };
    pool.call("writing a record", put).await?;
    Ok(())
}

/// Whose record is under a key.
pub(super) async fn find(pool: &Pool, key: &str, lease: i64) -> Result<Found, Failure> {
    let find = |client: Client| {
        let key = key.to_owned();
        async move {
            let options = GetOptions::new().with_keys_only();
            let answer = client.kv_client().get(key, Some(options)).await?;
            Ok::<_, Error>(match answer.kvs().first().map(|kv| kv.lease()) {
                None => Found::Nothing,
                Some(0) => Found::Unleased,
                Some(owner) if owner != lease => Found::Other,
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
