//! An ordered set that mostly holds one element.

/// A set of a few elements, in order.
///
/// Thousands of them are kept, by host and by object, and nearly all hold one element: a node of a `BTreeSet` has room
/// for eleven from the first on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Few<T>(Vec<T>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Ord> Few<T> {
    /// Adds an element, unless it is there.
    pub fn insert(&mut self, element: T) {
        if let Err(place) = self.0.binary_search(&element) {
            self.0.reserve_exact(1);
            self.0.insert(place, element);
        }
    }

    /// Takes an element out, if it is there.
    pub fn remove(&mut self, element: &T) {
        if let Ok(place) = self.0.binary_search(element) {
            self.0.remove(place);
        }
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The elements in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T: Ord> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut elements: Vec<T> = elements.into_iter().collect();
        elements.sort();
        elements.dedup();
        elements.shrink_to_fit();
        Self(elements)
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_few_elements_are_a_set_in_order(
            start in prop::collection::vec(0..9_u8, 0..9),
            steps in prop::collection::vec((any::<bool>(), 0..9_u8), 0..20),
        ) {
            let (mut few, mut set): (Few<u8>, BTreeSet<u8>) = (start.iter().copied().collect(), start.into_iter().collect());
            for (insert, element) in steps {
                if insert {
                    few.insert(element);
                    set.insert(element);
                } else {
                    few.remove(&element);
                    set.remove(&element);
                }
            }
            prop_assert_eq!(few.is_empty(), set.is_empty());
            prop_assert!(few.iter().eq(set.iter()));
            prop_assert!(few.into_iter().eq(set));
        }
    }
}
