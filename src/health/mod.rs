//! stub
/// p
#[derive(Debug, Clone, Default)]
pub struct Progress;
impl Progress {
    /// t
    pub fn tick(&self) {}
}
/// r
#[derive(Debug, Clone, Default)]
pub struct Readiness;
impl Readiness {
    /// t
    pub fn set_ready(&self, _c: &str) {}
}
