//! Builds the crate again when a file of the panel appears or goes.

fn main() {
    println!("cargo::rerun-if-changed=panel");
}
