//! Reading that treats an absent field, `null` and an empty value alike (contract §1.2).

use serde::{Deserialize, Deserializer};

/// Reads `null` as the type's default.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads `null` and the type's default (`""`, `{}`, `[]`) as `None`.
pub(crate) fn none_if_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + PartialEq + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.filter(|value| *value != T::default()))
}

/// Lets an object without `spec`, or with `spec: null`, read as one with an empty spec.
///
/// The derive of `kube` makes `spec` a required field of the object. Serde reads a missing field as `None`
/// if its type asks for an option, so the spec types do. They carry `#[serde(remote = "Self")]`, which keeps
/// the derived code reachable as inherent functions.
macro_rules! spec_may_be_absent {
    ($spec:ty) => {
        impl<'de> serde::Deserialize<'de> for $spec {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Present($spec);
                impl<'de> serde::Deserialize<'de> for Present {
                    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                        <$spec>::deserialize(deserializer).map(Self)
                    }
                }
                let spec = <Option<Present> as serde::Deserialize>::deserialize(deserializer)?;
                Ok(spec.map(|Present(spec)| spec).unwrap_or_default())
            }
        }

        impl serde::Serialize for $spec {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$spec>::serialize(self, serializer)
            }
        }
    };
}
pub(crate) use spec_may_be_absent;
