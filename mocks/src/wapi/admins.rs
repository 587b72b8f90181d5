//! Administrators, their groups and what those may do, as objects that can be read.
//!
//! They tell of accounts, and do not govern them: what an [`Account`] may do stands in the account. Field names,
//! and which of them can be searched for, are those of clients generated from the vendor's schema.

use super::account::Account;
use super::schema::{Field, Kind, ObjectType, Unset};
use super::store::Store;
use super::types::object_type;
use serde_json::{Value, json};

const COMMENT: Field = Field::new("comment", Kind::Text, "rwus").search("=:~").base();
const DISABLE: Field = Field::new("disable", Kind::Bool, "rwu").unset(Unset::Bool(false));
const NAME: Field = Field::new("name", Kind::Text, "rwus").search("=:~").base().required();
const RIGHTS: Kind = Kind::Choice(&["DENY", "READ", "WRITE"]);

pub(crate) const USERS: &[Field] = &[
    NAME,
    Field::new("admin_groups", Kind::TextList, "rwus").search("=").base().required(),
    Field::new("password", Kind::Text, "wu").required(),
    Field::new("auth_type", Kind::Choice(&["LOCAL", "RADIUS", "REMOTE"]), "rwu").unset(Unset::Text("LOCAL")),
    COMMENT,
    DISABLE,
];

pub(crate) const GROUPS: &[Field] = &[
    NAME,
    Field::new("superuser", Kind::Bool, "rwus").search("=").unset(Unset::Bool(false)),
    Field::new("roles", Kind::TextList, "rwus").search("=").unset(Unset::List),
    Field::new("access_method", Kind::TextList, "rwu").unset(Unset::List),
    COMMENT,
    DISABLE,
];

pub(crate) const ROLES: &[Field] = &[NAME, COMMENT, DISABLE];

pub(crate) const PERMISSIONS: &[Field] = &[
    Field::new("group", Kind::Text, "rwus").search("=").base(),
    Field::new("role", Kind::Text, "rwus").search("=").base(),
    Field::new("object", Kind::Text, "rwus").search("="),
    Field::new("permission", RIGHTS, "rwus").search("=").base().required(),
    Field::new("resource_type", Kind::Text, "rwus").search("=").base(),
];

/// The group that every grid has for its superusers.
pub(crate) const SUPERUSERS: &str = "admin-group";

/// Whether an account sees objects of a kind. That nobody but superusers sees administrators, unless the account is
/// made so, is inferred.
pub(crate) fn may_see(kind: &ObjectType, account: &Account) -> bool {
    let of_admins = matches!(kind.name, "adminuser" | "admingroup" | "adminrole" | "permission");
    !of_admins || account.superuser || account.reads_admins
}

/// The objects of the accounts that a grid is made with.
pub(crate) fn seed(store: &mut Store, accounts: &[Account]) {
    insert(
        store,
        "admingroup",
        json!({"name": SUPERUSERS, "superuser": true, "access_method": ["GUI", "API"]}),
    );
    for account in accounts {
        let group = account.group();
        if group != SUPERUSERS {
            insert(store, "admingroup", json!({"name": group, "access_method": ["API"]}));
        }
        insert(store, "adminuser", json!({"name": account.name, "admin_groups": [group]}));
    }
}

fn insert(store: &mut Store, type_name: &str, fields: Value) {
    if let (Ok(kind), Value::Object(fields)) = (object_type(type_name), fields) {
        store.insert(kind, fields);
    }
}
