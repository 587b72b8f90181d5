//! What a grid holds of DNSSEC. Nothing of it is served.

use super::admin::Admin;
use super::error::WapiError;
use super::schema::{Field, Kind};
use super::types::object_type;
use serde_json::{Value, json};

/// A DS record comes with a key set that an administrator imports, or from a signed child zone of the grid. It can be
/// deleted, and not created by name.
pub(crate) const RECORD_DS: &[Field] = &[
    Field::new("name", Kind::Name, "rs").search("=:~").base(),
    Field::new("view", Kind::Text, "rs").search("=").base(),
    Field::new("algorithm", Kind::Text, "rs").search("="),
    Field::new("digest", Kind::Text, "r"),
    Field::new("digest_type", Kind::Text, "rs").search("="),
    Field::new("key_tag", Kind::Uint, "rs").search("="),
    Field::new("comment", Kind::Text, "rs").search("=:~"),
];

impl Admin<'_> {
    /// Signs an authoritative zone.
    ///
    /// # Errors
    /// There is no such zone.
    pub fn sign_zone(&mut self, fqdn: &str, view: &str) -> Result<(), WapiError> {
        let store = &mut self.state().store;
        let zone = store.zones(view).find(|zone| zone.kind.name == "zone_auth" && zone.text("fqdn") == fqdn);
        let mut zone = zone.cloned().ok_or_else(|| WapiError::reference_not_found(fqdn))?;
        zone.fields.insert("is_dnssec_signed".to_owned(), true.into());
        store.replace(zone.id, zone.fields);
        Ok(())
    }

    /// Puts a DS record for a name into the zone around it, as importing a key set does.
    ///
    /// # Errors
    /// The view has no zone around the name.
    pub fn import_ds(&mut self, name: &str, view: &str, key_tag: u32) -> Result<(), WapiError> {
        let store = &mut self.state().store;
        if store.parent_zone(name, view).is_none() {
            return Err(WapiError::parent_not_found());
        }
        let fields = json!({"name": name, "view": view, "algorithm": "13", "digest": "00", "digest_type": "SHA256",
            "key_tag": key_tag});
        if let Value::Object(fields) = fields {
            store.insert(object_type("record:ds")?, fields);
        }
        Ok(())
    }
}
