//! Searches, page by page.

use serde::Deserialize;
use serde_json::Value;

use crate::answer::{Failure, Kind};
use crate::provider::{Infoblox, query};

/// Objects on a page: a grid gives 1000 at most (reference.md §2.4), and an object may have dozens of values, of which a
/// [reply is read up to a bound](crate::bounds). A page that is too large is asked for in smaller ones.
const PAGE_SIZES: [usize; 3] = [500, 100, 20];

/// One page of a search, as it comes.
#[derive(Debug, Deserialize)]
struct WirePage {
    result: Vec<Value>,
    #[serde(default)]
    next_page_id: Option<String>,
}

/// One page of a search.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) objects: Vec<Value>,
    /// What was seen before is seen again.
    pub(crate) is_first: bool,
}

/// What a search found.
#[derive(Debug)]
pub(crate) struct Hits {
    pub(crate) objects: Vec<Value>,
    /// There are more than were asked for.
    pub(crate) more: bool,
}

impl Infoblox {
    /// All objects of a search. What was not read to its end says nothing, so more than `most` are an error.
    pub(crate) async fn all_of(
        &self,
        kind: &str,
        criteria: &[(&str, &str)],
        most: usize,
    ) -> Result<Vec<Value>, Failure> {
        let hits = self.search(kind, criteria, most).await?;
        match hits.more {
            false => Ok(hits.objects),
            true => Err(self.too_many(kind, most)),
        }
    }

    pub(crate) fn too_many(&self, kind: &str, most: usize) -> Failure {
        self.unexpected(&format!("holds more than {most} objects of {kind} there"))
    }

    /// The objects of a search, about `most` of them if there are more.
    pub(crate) async fn search(
        &self,
        kind: &str,
        criteria: &[(&str, &str)],
        most: usize,
    ) -> Result<Hits, Failure> {
        let mut objects = Vec::new();
        let see = |page: Page| {
            if page.is_first {
                objects.clear();
            }
            objects.extend(page.objects);
            Ok(())
        };
        let more = self.each_page(kind, criteria, most, see).await?;
        Ok(Hits { objects, more })
    }

    /// Shows each page of a search, so that not all of it is held at once; all of them anew where one is too large. Gives
    /// whether there are more objects than the about `most` that were shown.
    pub(crate) async fn each_page(
        &self,
        kind: &str,
        criteria: &[(&str, &str)],
        most: usize,
        mut see: impl FnMut(Page) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let [largest, smaller @ ..] = PAGE_SIZES;
        let mut outcome = self.in_pages_of(largest, kind, criteria, most, &mut see).await;
        for size in smaller {
            if !matches!(outcome, Err(Failure { kind: Kind::TooLarge, .. })) {
                break;
            }
            outcome = self.in_pages_of(size, kind, criteria, most, &mut see).await;
        }
        outcome
    }

    async fn in_pages_of(
        &self,
        size: usize,
        kind: &str,
        criteria: &[(&str, &str)],
        most: usize,
        see: &mut impl FnMut(Page) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let size = size.to_string();
        let paging = [("_paging", "1"), ("_return_as_object", "1"), ("_max_results", size.as_str())];
        let (mut seen, mut target) = (0, query(kind, &[criteria, &paging].concat()));
        loop {
            let page: WirePage = self.parse(self.client.read(target).await?)?;
            let is_first = seen == 0;
            seen += page.result.len();
            see(Page { objects: page.result, is_first })?;
            match page.next_page_id {
                None => return Ok(false),
                Some(_) if seen >= most => return Ok(true),
                Some(id) => target = query(kind, &[("_page_id", &id)]),
            }
        }
    }
}
