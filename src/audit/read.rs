//! Pages through the stored change log.

use gslb_crds::ProviderChange;
use kube::Api;
use kube::api::ListParams;
use kube::core::DeserializeGuard;
use kube::core::error_boundary::InvalidObject;

use crate::kube_call::in_time;

/// An object as listed: one that cannot be read does not hide its neighbours.
pub type Guarded = DeserializeGuard<ProviderChange>;

/// Objects per page; at about 2 KiB each a page stays near one megabyte.
const PAGE: u32 = 500;
/// How often a listing that the API server gave up on is started again.
const RESTARTS: usize = 3;

/// Shows each stored object to `see`, in the order of their names, which is that of their sequences.
///
/// The API server forgets old snapshots (410): then the listing starts again from `start`.
///
/// # Errors
/// The API server cannot be asked.
pub async fn fold<A>(
    api: &Api<Guarded>,
    start: impl Fn() -> A,
    mut see: impl FnMut(&mut A, Result<ProviderChange, InvalidObject>),
) -> Result<A, kube::Error> {
    let mut restarts = 0;
    let mut seen = start();
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = match in_time(api.list(&params)).await {
            Ok(page) => page,
            Err(kube::Error::Api(status)) if status.code == 410 && restarts < RESTARTS => {
                restarts += 1;
                seen = start();
                params = ListParams::default().limit(PAGE);
                continue;
            }
            Err(error) => return Err(error),
        };
        for DeserializeGuard(object) in page.items {
            see(&mut seen, object);
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(seen),
        }
    }
}
