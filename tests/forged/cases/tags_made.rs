use ringfence_policy::TrustedTags;

fn main() {
    let _ = TrustedTags {};
}
