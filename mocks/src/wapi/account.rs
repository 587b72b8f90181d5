//! Who may use the grid, and by which rules it plays where nobody knows what a real one does.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// An administrator of the grid.
#[derive(Clone)]
pub struct Account {
    pub(crate) name: String,
    pub(crate) password: String,
    pub(crate) superuser: bool,
    pub(crate) api_access: bool,
    pub(crate) may_write: bool,
    pub(crate) hidden_views: BTreeSet<String>,
    pub(crate) needs_approval: bool,
    pub(crate) sees_tasks: bool,
    pub(crate) reads_admins: bool,
}

impl Account {
    /// An account that may read and write everything over the API, but is no superuser.
    pub fn new(name: &str, password: &str) -> Self {
        Self {
            name: name.to_owned(),
            password: password.to_owned(),
            superuser: false,
            api_access: true,
            may_write: true,
            hidden_views: BTreeSet::new(),
            needs_approval: false,
            sees_tasks: true,
            reads_admins: false,
        }
    }

    /// Superusers define extensible attributes and lift the locks of others.
    #[must_use]
    pub fn superuser(mut self) -> Self {
        self.superuser = true;
        self
    }

    /// Without API access every request is answered 403 (HTML).
    #[must_use]
    pub fn without_api_access(mut self) -> Self {
        self.api_access = false;
        self
    }

    /// Writes are refused with a 400 Conflict, as on a grid.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.may_write = false;
        self
    }

    /// Objects of that view are missing from searches, and its zones are no parents.
    #[must_use]
    pub fn without_view(mut self, view: &str) -> Self {
        self.hidden_views.insert(view.to_owned());
        self
    }

    /// Every write becomes a `scheduledtask` that waits for approval.
    #[must_use]
    pub fn needs_approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }

    /// Tasks are missing from searches, and a reference to one is answered as unknown.
    #[must_use]
    pub fn without_tasks(mut self) -> Self {
        self.sees_tasks = false;
        self
    }

    /// It may read administrators, their groups and permissions, as superusers do.
    #[must_use]
    pub fn reading_admins(mut self) -> Self {
        self.reads_admins = true;
        self
    }

    /// The group that it is in: that of all superusers, or one of its own.
    pub fn group(&self) -> String {
        match self.superuser {
            true => super::admins::SUPERUSERS.to_owned(),
            false => format!("{}-group", self.name),
        }
    }

    pub(crate) fn sees(&self, view: &str) -> bool {
        !self.hidden_views.contains(view)
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("name", &self.name).field("password", &"***").finish_non_exhaustive()
    }
}

/// When the grid blocks a client for bad log-ins: every request is 403 then, valid credentials or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lockout {
    /// Bad log-ins that are still answered 401; the next request is 403.
    pub bad_logins: usize,
    /// Only bad log-ins this close together count.
    pub within: Duration,
    /// How long the client stays blocked. Real grids: "for a while".
    pub lasts: Duration,
}

impl Default for Lockout {
    /// Five bad log-ins within 6 s were seen on a real grid; how long the block lasts is not known.
    fn default() -> Self {
        Self { bad_logins: 5, within: Duration::from_secs(6), lasts: Duration::from_secs(300) }
    }
}

/// What the simulator does where the behaviour of real grids is unknown or differs between releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Accept an empty `delegate_to` on update. Unknown on real grids.
    pub accepts_empty_delegate_to: bool,
    /// Accept the same element of `delegate_to` twice. Unknown on real grids.
    pub accepts_duplicate_server: bool,
    /// Accept a delegation below another delegation. Unknown on real grids.
    pub accepts_delegation_below_delegation: bool,
    /// Write a blank after the comma at a line's end, as the older releases that were captured do.
    pub blank_after_comma: bool,
    /// The text when someone else holds the lock; the real one is not known.
    pub locked_text: String,
    /// The text when a task waits for approval or for its time on the same object; the real one is not known.
    pub pending_text: String,
    /// The grid is a read-only candidate: writes are refused. The real text is not known.
    pub read_only_candidate: bool,
    /// Updates of delegations are acknowledged and not carried out, as if a rule of the grid undid them at once.
    pub forgets_updates: bool,
    /// Enforce attributes flagged `M` over the API; NIOS 9.0 does so in its own pages only.
    pub enforces_mandatory_attributes: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            accepts_empty_delegate_to: true,
            accepts_duplicate_server: true,
            accepts_delegation_below_delegation: false,
            blank_after_comma: true,
            locked_text: "The zone is locked by another administrator.".to_owned(),
            pending_text: "The object has a pending task.".to_owned(),
            read_only_candidate: false,
            forgets_updates: false,
            enforces_mandatory_attributes: false,
        }
    }
}
