use ringfence_policy::GrayTag;

fn other_release(tag: &mut GrayTag) {
    tag.release = "checkout-v2".into();
}

fn main() {}
