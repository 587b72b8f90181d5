//! The simulated grid, its two accounts, and how its faults are switched.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::Context;
use gslb_mocks::Trap;
use gslb_mocks::wapi::{
    Account, Delegation, DnsServer, DnsSockets, Entry, Fault, Grid, HttpServer, RestartMode, SimulatorTls,
    WapiError,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::topology::{HOST, Mode, PARENT, PARENT_ZONE, Site, ZONE};

/// The DNS team's account: the one in the ready file.
pub(super) const ADMIN: &str = "dns-team";
/// The account of the daemons.
const ACCOUNT: &str = "gslb-bridge";
/// WAPI version that the sandbox speaks.
pub(super) const VERSION: &str = "2.12";
/// The DNS view of all zones.
pub(super) const VIEW: &str = "default";

/// The grid with everything that serves it, until it is dropped.
#[derive(Debug)]
pub(super) struct SimulatedGrid {
    grid: Grid,
    https: HttpServer,
    dns: DnsServer,
    files: Files,
    /// Counts the passwords of the daemons' account: each is used once.
    passwords: Mutex<u32>,
}

/// Files that clients read.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) ca: PathBuf,
    pub(super) username: PathBuf,
    pub(super) password: PathBuf,
}

impl Files {
    fn in_folder(folder: &Path) -> Self {
        Self {
            ca: folder.join("ca.pem"),
            username: folder.join("wapi-username"),
            password: folder.join("wapi-password"),
        }
    }
}

impl SimulatedGrid {
    /// Starts the grid: HTTPS on `listener`, DNS on a port that only the relay knows.
    ///
    /// # Errors
    /// A file cannot be written, or a socket cannot be used.
    pub(super) async fn start(folder: &Path, listener: TcpListener, mode: Mode) -> anyhow::Result<Self> {
        let files = Files::in_folder(folder);
        let tls = SimulatorTls::generate(&[&PARENT.to_string()]).context("cannot make certificates")?;
        let tls = tls.write_ca(&files.ca).context("cannot write the grid's CA file")?;
        let grid = Grid::builder()
            .username(ADMIN)
            .password(&admin_password(false))
            .account(Account::new(ACCOUNT, &password(0)))
            .zone_auth(PARENT_ZONE, VIEW)
            .attribute("GslbBridgeClaim")
            .attribute("GslbBridgeChallenge")
            .restart(RestartMode::After(Duration::from_secs(1)))
            .build()
            .context("the grid refuses its zones")?;
        if mode == Mode::Records {
            // What a DNS team does once: without a delegation nobody else says where the clusters' DNS servers are.
            for site in Site::ALL {
                let record = json!({"name": site.name_server(), "ipv4addr": site.dns(), "view": VIEW});
                let made = grid.edit(|admin| admin.create("record:a", record));
                made.context("the grid refuses the address of a name server")?;
            }
        }
        let https = grid.serve_https(listener.into_std()?, &tls).context("the grid cannot listen")?;
        let sockets = DnsSockets::bind((PARENT, 0).into()).await.context("the grid's DNS cannot listen")?;
        let dns = grid.serve_dns(sockets);
        let this = Self { grid, https, dns, files, passwords: Mutex::new(0) };
        write(&this.files.username, ACCOUNT)?;
        write(&this.files.password, &password(0))?;
        Ok(this)
    }

    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    /// Where it really listens.
    pub(super) fn https(&self) -> SocketAddr {
        self.https.address()
    }

    /// Where its DNS really listens.
    pub(super) fn dns(&self) -> Option<SocketAddr> {
        self.dns.address()
    }

    /// The base URL that everybody may use.
    pub(super) fn url(&self) -> String {
        format!("{}/wapi/v{VERSION}/", self.https.url())
    }

    /// The records of the sample's host: address and claim.
    pub(super) fn records(&self) -> Vec<(String, String)> {
        let search = [("name", HOST), ("view", VIEW), ("_return_fields", "ipv4addr,extattrs")];
        let found = self.grid.edit(|admin| admin.find("record:a", &search)).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let record = |object: &Value| {
            let attributes = &object["extattrs"];
            let challenge = match &attributes["GslbBridgeChallenge"]["value"] {
                Value::String(challenge) => format!(", challenged by {challenge}"),
                _ => String::new(),
            };
            (text(&object["ipv4addr"]), text(&attributes["GslbBridgeClaim"]["value"]) + &challenge)
        };
        let mut records: Vec<_> = found.iter().map(record).collect();
        records.sort();
        records
    }

    /// The zone's delegation as it is stored.
    pub(super) fn delegation(&self) -> Option<Delegation> {
        self.grid.delegation(ZONE, VIEW)
    }

    /// Its name servers with their addresses.
    pub(super) fn stored(&self) -> Vec<(String, String)> {
        let entries = self.delegation().map(|delegation| delegation.delegate_to).unwrap_or_default();
        entries.into_iter().map(|entry| (entry.name, entry.address)).collect()
    }

    /// Removes a site's entries, as an administrator would by hand.
    ///
    /// # Errors
    /// There is no delegation, or no entry of the site.
    pub(super) fn remove_by_hand(&self, site: Site) -> anyhow::Result<()> {
        let kept = self.without(site)?;
        let before = self.delegation().map_or(0, |delegation| delegation.delegate_to.len());
        anyhow::ensure!(kept.len() < before, "the delegation has no entry of {site}");
        self.edit_delegation(json!({ "delegate_to": kept }))
    }

    /// Removes a site's entries and locks the delegation, in one step. The fault before ends.
    ///
    /// # Errors
    /// There is no delegation.
    pub(super) fn lock(&self, site: Site) -> anyhow::Result<()> {
        self.clear()?;
        self.edit_delegation(json!({"delegate_to": self.without(site)?, "locked": true}))
    }

    /// What the daemons write waits for approval from now on, and a site's entries are removed, so that there is something
    /// to write. The fault before ends.
    ///
    /// # Errors
    /// There is no delegation.
    pub(super) fn demand_approval(&self, site: Site) -> anyhow::Result<()> {
        self.clear()?;
        let kept = self.without(site)?;
        self.grid.set_needs_approval(ACCOUNT, true);
        self.edit_delegation(json!({"delegate_to": kept}))
    }

    /// Ends what [`Self::lock`] and [`Self::demand_approval`] began: the DNS team unlocks, and approves what waits.
    fn release(&self) -> anyhow::Result<()> {
        self.grid.set_needs_approval(ACCOUNT, false);
        self.grid.edit(|admin| {
            for task in admin.find("scheduledtask", &[("approval_status", "PENDING")])? {
                admin.approve(task["task_id"].as_u64().unwrap_or_default())?;
            }
            Ok::<_, WapiError>(())
        })?;
        match self.delegation() {
            Some(delegation) if delegation.locked_by.is_some() => {
                self.edit_delegation(json!({"locked": false}))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The entries of the delegation but those of a site.
    fn without(&self, site: Site) -> anyhow::Result<Vec<Value>> {
        let name = site.name_server().to_string();
        let delegation = self.delegation().context("there is no delegation")?;
        let kept = delegation.delegate_to.iter().filter(|entry| entry.name != name);
        Ok(kept.map(|entry| json!({"name": entry.name, "address": entry.address})).collect())
    }

    fn edit_delegation(&self, change: Value) -> anyhow::Result<()> {
        self.grid.edit(|admin| {
            let reference = admin.zone_reference(ZONE, VIEW)?;
            admin.update(&reference, change).map(drop)
        })?;
        Ok(())
    }

    /// The number of the newest request.
    pub(super) fn mark(&self) -> u64 {
        self.grid.journal().mark()
    }

    /// Requests after a mark.
    pub(super) fn since(&self, mark: u64) -> Vec<Entry> {
        self.grid.journal().since(mark)
    }

    pub(super) fn bad_logins(&self) -> u64 {
        self.grid.bad_logins()
    }

    /// Catches the next effective write of a site.
    pub(super) fn trap_write(&self, site: Site) -> Trap {
        self.grid.faults().trap_write_of(site.dns().into())
    }

    /// Puts a fault into force; the one before ends, wrong passwords too.
    ///
    /// # Errors
    /// The password file cannot be written.
    pub(super) fn inject(&self, fault: Fault) -> anyhow::Result<()> {
        self.clear()?;
        self.grid.faults().replace(Some(fault));
        Ok(())
    }

    /// Changes the passwords at the grid; no file is changed, and open sessions end. The fault before ends.
    ///
    /// # Errors
    /// What was held back before cannot be let go.
    pub(super) fn change_passwords(&self) -> anyhow::Result<()> {
        self.grid.faults().replace(None);
        self.release()?;
        self.grid.set_password(ADMIN, &admin_password(true));
        self.grid.set_password(ACCOUNT, &password(self.next_password()));
        self.grid.expire_sessions();
        Ok(())
    }

    /// Ends all faults.
    ///
    /// # Errors
    /// The password file cannot be written.
    pub(super) fn clear(&self) -> anyhow::Result<()> {
        self.grid.faults().clear();
        self.release()?;
        self.correct_passwords()
    }

    /// Ends what [`Self::change_passwords`] began. The daemons get a password that was never refused: one that was is
    /// not tried again.
    fn correct_passwords(&self) -> anyhow::Result<()> {
        self.grid.set_password(ADMIN, &admin_password(false));
        if std::fs::read_to_string(&self.files.password).ok() != Some(password(self.last_password())) {
            let fresh = password(self.next_password());
            self.grid.set_password(ACCOUNT, &fresh);
            write(&self.files.password, &fresh)?;
        }
        Ok(())
    }

    fn last_password(&self) -> u32 {
        *self.passwords.lock().expect("no panic while the passwords are locked")
    }

    fn next_password(&self) -> u32 {
        let mut last = self.passwords.lock().expect("no panic while the passwords are locked");
        *last += 1;
        *last
    }
}

/// Whose request it was.
pub(super) fn site_of(entry: &Entry) -> Option<Site> {
    Site::of(entry.peer.ip())
}

/// The admin's password while all is well, and while it is changed.
pub(super) fn admin_password(changed: bool) -> String {
    if changed { "changed-by-sandbox-inject".to_owned() } else { "sandbox".to_owned() }
}

fn password(number: u32) -> String {
    format!("sandbox-{number}")
}

/// Replaces the file in one step, as Kubernetes does with mounted Secrets.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let write = || {
        let mut draft = path.as_os_str().to_owned();
        draft.push(".new");
        std::fs::write(&draft, text)?;
        std::fs::rename(&draft, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn started(folder: &Path) -> SimulatedGrid {
        let listener = TcpListener::bind((PARENT, 0)).await.unwrap();
        SimulatedGrid::start(folder, listener, Mode::Delegation).await.unwrap()
    }

    #[tokio::test]
    async fn after_a_wrong_password_the_daemons_get_one_that_was_never_refused() {
        let folder = tempfile::tempdir().unwrap();
        let grid = started(folder.path()).await;
        let read = || std::fs::read_to_string(&grid.files().password).unwrap();
        assert_eq!(read(), "sandbox-0");
        grid.clear().unwrap();
        assert_eq!(read(), "sandbox-0", "nothing was wrong");
        grid.change_passwords().unwrap();
        assert_eq!(read(), "sandbox-0");
        grid.clear().unwrap();
        assert_eq!(read(), "sandbox-2");
    }

    #[tokio::test]
    async fn a_newer_fault_replaces_the_older_one() {
        let folder = tempfile::tempdir().unwrap();
        let grid = started(folder.path()).await;
        let read = || std::fs::read_to_string(&grid.files().password).unwrap();
        let in_force = || grid.grid.faults().in_force();
        grid.inject(Fault::Unavailable).unwrap();
        grid.inject(Fault::LoginPage).unwrap();
        assert_eq!((in_force(), read().as_str()), (vec![Fault::LoginPage], "sandbox-0"));
        grid.change_passwords().unwrap();
        assert_eq!(
            (in_force(), read().as_str()),
            (vec![], "sandbox-0"),
            "the wrong password is the only fault"
        );
        grid.inject(Fault::Unavailable).unwrap();
        assert_eq!((in_force(), read().as_str()), (vec![Fault::Unavailable], "sandbox-2"));
    }

    /// A grid with a delegation to all sites, as the daemons have made it.
    async fn delegating(folder: &Path) -> SimulatedGrid {
        let grid = started(folder).await;
        let entries = Site::ALL.map(|site| json!({"name": site.name_server(), "address": site.dns()}));
        let zone = json!({"fqdn": ZONE, "view": VIEW, "delegate_to": entries});
        grid.grid.edit(|admin| admin.create("zone_delegated", zone)).unwrap();
        grid
    }

    #[tokio::test]
    async fn a_locked_delegation_lacks_one_site_until_the_lock_is_lifted() {
        let folder = tempfile::tempdir().unwrap();
        let grid = delegating(folder.path()).await;
        grid.lock(Site::Eu).unwrap();
        grid.lock(Site::Eu).unwrap();
        assert_eq!(Site::in_delegation(&grid.stored()), [Site::Us, Site::Za]);
        assert_eq!(grid.delegation().unwrap().locked_by.as_deref(), Some(ADMIN));
        grid.clear().unwrap();
        assert_eq!(grid.delegation().unwrap().locked_by, None);
        assert_eq!(
            Site::in_delegation(&grid.stored()),
            [Site::Us, Site::Za],
            "what was taken out is the daemons' to put back"
        );
    }

    #[tokio::test]
    async fn an_entry_is_removed_by_hand_and_the_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let grid = started(folder.path()).await;
        assert!(grid.remove_by_hand(Site::Eu).is_err());
        let entry = |site: Site| json!({"name": site.name_server(), "address": site.dns()});
        let zone = json!({"fqdn": ZONE, "view": VIEW, "delegate_to": [entry(Site::Eu), entry(Site::Us)]});
        grid.grid.edit(|admin| admin.create("zone_delegated", zone)).unwrap();
        assert_eq!(Site::in_delegation(&grid.stored()), [Site::Eu, Site::Us]);
        grid.remove_by_hand(Site::Eu).unwrap();
        assert_eq!(Site::in_delegation(&grid.stored()), [Site::Us]);
        assert!(grid.remove_by_hand(Site::Eu).is_err());
    }
}
