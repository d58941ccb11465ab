use ringfence_policy::GrayTag;

fn main() {
    let _ = GrayTag {};
}
