//! What is to become of many sets of records.

use serde::{Deserialize, Deserializer, Serialize};

use super::Endpoint;

/// One round of external-dns. What is empty is not written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Changes {
    /// Sets to make.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub create: Vec<Endpoint>,
    /// What the sets to alter look like now, each at the place of its partner in [`update_new`](Self::update_new).
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub update_old: Vec<Endpoint>,
    /// What they are to look like.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub update_new: Vec<Endpoint>,
    /// Sets to take away.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub delete: Vec<Endpoint>,
}

/// The two lists of updates do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("updateOld has {old} entries and updateNew {new}; each update needs one in both")]
pub struct Unpaired {
    old: usize,
    new: usize,
}

impl Changes {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many sets are named, an update counting once.
    pub fn len(&self) -> usize {
        self.create.len() + self.update_old.len().max(self.update_new.len()) + self.delete.len()
    }

    /// Updates as pairs of old and new.
    ///
    /// # Errors
    /// The lists are of different lengths.
    pub fn updates(&self) -> Result<impl Iterator<Item = (&Endpoint, &Endpoint)>, Unpaired> {
        match (self.update_old.len(), self.update_new.len()) {
            (old, new) if old != new => Err(Unpaired { old, new }),
            _ => Ok(self.update_old.iter().zip(&self.update_new)),
        }
    }
}

fn or_empty<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Endpoint>, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn endpoint(name: &str) -> Endpoint {
        Endpoint { dns_name: name.into(), ..Endpoint::default() }
    }

    #[test]
    fn changes_are_written_as_external_dns_has_them() {
        let changes = Changes {
            create: vec![endpoint("a")],
            update_old: vec![endpoint("b")],
            update_new: vec![endpoint("c")],
            delete: vec![],
        };
        let written = json!({"create": [{"dnsName": "a"}], "updateOld": [{"dnsName": "b"}], "updateNew": [{"dnsName": "c"}]});
        assert_eq!(serde_json::to_value(&changes).unwrap(), written);
        assert_eq!(serde_json::from_value::<Changes>(written).unwrap(), changes);
        let nulls = json!({"create": null, "updateOld": null, "updateNew": null, "delete": null});
        assert_eq!(serde_json::from_value::<Changes>(nulls).unwrap(), Changes::default());
        assert_eq!((changes.len(), Changes::default().is_empty()), (2, true));
    }

    #[test]
    fn an_update_without_its_partner_is_refused() {
        let changes = Changes { update_old: vec![endpoint("b")], ..Changes::default() };
        assert_eq!(
            changes.updates().err().unwrap().to_string(),
            "updateOld has 1 entries and updateNew 0; each update needs one in both"
        );
    }
}
