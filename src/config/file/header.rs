//! What says that a file is a configuration, and of which version.

use super::ConfigFile;
use super::yaml::{Content, Key, Node};
use crate::config::problem::quoted;

/// The one version that is read.
pub const API_VERSION: &str = "gslb-bridge.io/v1alpha1";
/// What the file is.
pub const KIND: &str = "Configuration";

pub(super) const HEADER: [(&str, &str); 2] = [("apiVersion", API_VERSION), ("kind", KIND)];

impl ConfigFile {
    /// Everything that the file says, if it is one that can be read.
    pub(super) fn take(&mut self, root: &Node) {
        let entries = match &root.content {
            Content::Mapping(entries) => entries.as_slice(),
            Content::Nothing => &[],
            Content::Flag(_) | Content::Number(_) | Content::Text(_) | Content::List(_) => {
                let fix = format!("begin it with apiVersion: {API_VERSION} and kind: {KIND}");
                self.tell_of_file(Some(root.at), "holds no keys with values", &fix);
                return;
            }
        };
        if self.take_header(entries) {
            self.take_section(entries, "");
        }
    }

    /// Whether the keys behind it can be understood: a file of another kind or version has keys of its own.
    fn take_header(&mut self, entries: &[(Key, Node)]) -> bool {
        let before = self.unread;
        for (name, known) in HEADER {
            let Some((_, value)) = entries.iter().find(|(key, _)| key.name == name) else {
                let told = "is not set: it says how the file is to be read";
                self.tell(None, Some(name), told, format!("write {name}: {known}"));
                continue;
            };
            let told = match &value.content {
                Content::Text(text) if text == known => continue,
                Content::Text(text) | Content::Number(text) => format!("is {}", quoted(text)),
                Content::Nothing | Content::Flag(_) | Content::List(_) | Content::Mapping(_) => {
                    "is no text".to_owned()
                }
            };
            self.unread = true;
            let told =
                format!("{told}: this version reads {known} only, and checked nothing else of the file");
            self.tell(Some(value.at), Some(name), told, format!("write {name}: {known}"));
        }
        self.unread == before
    }
}
