//! Gslbs of both groups, so that one pass serves them all.

use std::borrow::Cow;
use std::ops::Deref;

use gslb_core::group::Group;
use gslb_crds::{Gslb, LegacyGslb};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use kube::runtime::reflector::ObjectRef;
use kube::{Resource, ResourceExt};

use crate::controller::cache::Key;

/// Which Gslb: the two groups may have one of the same name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id {
    pub(crate) key: Key,
    pub(crate) group: Group,
}

impl Id {
    pub(crate) fn object_ref(&self) -> ObjectRef<Guarded> {
        ObjectRef::new_with(&self.key.name, self.group).within(&self.key.namespace)
    }

    /// The one of the same name in the other group.
    pub(crate) fn twin(&self) -> Self {
        Self { key: self.key.clone(), group: self.group.other() }
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.group {
            Group::Canonical => self.key.fmt(f),
            Group::Legacy => write!(f, "{} of group {}", self.key, self.group.as_str()),
        }
    }
}

/// A Gslb of either group, or what is wrong with it if it does not parse.
#[derive(Debug, Clone)]
pub(crate) struct Guarded {
    pub(crate) group: Group,
    pub(crate) object: DeserializeGuard<Gslb>,
}

impl Guarded {
    pub(crate) fn id(&self) -> Id {
        Id { key: Key::of(self), group: self.group }
    }

    /// The Gslb, if it could be read.
    pub(crate) fn read(&self) -> Option<Served<'_>> {
        self.object.0.as_ref().ok().map(|gslb| Served { group: self.group, gslb })
    }
}

impl From<DeserializeGuard<Gslb>> for Guarded {
    fn from(object: DeserializeGuard<Gslb>) -> Self {
        Self { group: Group::Canonical, object }
    }
}

impl From<DeserializeGuard<LegacyGslb>> for Guarded {
    fn from(DeserializeGuard(read): DeserializeGuard<LegacyGslb>) -> Self {
        Self { group: Group::Legacy, object: DeserializeGuard(read.map(|LegacyGslb(gslb)| gslb)) }
    }
}

impl Resource for Guarded {
    type DynamicType = Group;
    type Scope = NamespaceResourceScope;

    fn kind(_: &Group) -> Cow<'_, str> {
        Gslb::kind(&())
    }
    fn group(group: &Group) -> Cow<'_, str> {
        group.as_str().into()
    }
    fn version(_: &Group) -> Cow<'_, str> {
        Gslb::version(&())
    }
    fn plural(_: &Group) -> Cow<'_, str> {
        Gslb::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        self.object.meta()
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.object.meta_mut()
    }
}

/// A Gslb that could be read, with its group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Served<'a> {
    pub(crate) group: Group,
    pub(crate) gslb: &'a Gslb,
}

impl Deref for Served<'_> {
    type Target = Gslb;

    fn deref(&self) -> &Gslb {
        self.gslb
    }
}

impl Served<'_> {
    pub(crate) fn key(&self) -> Key {
        Key::of(self.gslb)
    }

    pub(crate) fn id(&self) -> Id {
        Id { key: self.key(), group: self.group }
    }

    pub(crate) fn api_version(&self) -> String {
        Guarded::api_version(&self.group).into_owned()
    }

    /// For events.
    pub(crate) fn object_reference(&self) -> ObjectReference {
        ObjectReference { api_version: Some(self.api_version()), ..self.gslb.object_ref(&()) }
    }

    /// The reference of what belongs to it.
    pub(crate) fn owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.api_version(),
            kind: Gslb::kind(&()).into_owned(),
            name: self.name_any(),
            uid: self.uid().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }
}

/// One of each group.
#[derive(Debug, Clone)]
pub(crate) struct ByGroup<T> {
    pub(crate) canonical: T,
    pub(crate) legacy: T,
}

impl<T> ByGroup<T> {
    pub(crate) fn of(&self, group: Group) -> &T {
        match group {
            Group::Canonical => &self.canonical,
            Group::Legacy => &self.legacy,
        }
    }
}
