pub use allocation_counter::AllocationInfo;

/// Runs `code` and counts what it allocates on this thread, so that tests running beside it do not disturb.
///
/// ```
/// let info = ringfence_testkit::allocations(|| drop(vec![1_u8; 64]));
/// assert_eq!((info.count_total, info.bytes_total, info.count_current), (1, 64, 0));
/// ```
pub fn allocations(code: impl FnOnce()) -> AllocationInfo {
    allocation_counter::measure(code)
}

#[cfg(test)]
mod tests {
    use super::allocations;

    #[test]
    fn counts_only_this_thread() {
        let beside = std::thread::spawn(|| (0..1000).map(|n| n.to_string()).collect::<Vec<_>>());
        let array = [1_u64; 8];
        let info = allocations(|| assert_eq!(array.iter().sum::<u64>(), 8));
        assert_eq!(info.count_total, 0);
        assert_eq!(allocations(|| drop(Box::new(array))).count_total, 1);
        beside.join().unwrap();
    }
}
