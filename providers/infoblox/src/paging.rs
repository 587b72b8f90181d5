//! Searches, page by page.

use serde::Deserialize;
use serde_json::Value;

use crate::answer::{Failure, Kind};
use crate::provider::{Infoblox, query};

/// Objects on a page: a grid gives 1000 at most (reference.md §2.4), and an object may have dozens of values, of which a
/// [reply is read up to a bound](crate::bounds). A page that is too large is asked for in smaller ones.
const PAGE_SIZES: [usize; 3] = [500, 100, 20];

/// One page of a search.
#[derive(Debug, Deserialize)]
struct Page {
    result: Vec<Value>,
    #[serde(default)]
    next_page_id: Option<String>,
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
            true => Err(self.unexpected(&format!("holds more than {most} objects of {kind} there"))),
        }
    }

    /// The objects of a search, about `most` of them if there are more.
    pub(crate) async fn search(
        &self,
        kind: &str,
        criteria: &[(&str, &str)],
        most: usize,
    ) -> Result<Hits, Failure> {
        let [largest, smaller @ ..] = PAGE_SIZES;
        let mut outcome = self.in_pages_of(largest, kind, criteria, most).await;
        for size in smaller {
            if !matches!(outcome, Err(Failure { kind: Kind::TooLarge, .. })) {
                break;
            }
            outcome = self.in_pages_of(size, kind, criteria, most).await;
        }
        outcome
    }

    async fn in_pages_of(
        &self,
        size: usize,
        kind: &str,
        criteria: &[(&str, &str)],
        most: usize,
    ) -> Result<Hits, Failure> {
        let size = size.to_string();
        let paging = [("_paging", "1"), ("_return_as_object", "1"), ("_max_results", size.as_str())];
        let (mut objects, mut target) = (vec![], query(kind, &[criteria, &paging].concat()));
        loop {
            let page: Page = self.parse(self.client.read(target).await?)?;
            objects.extend(page.result);
            match page.next_page_id {
                None => return Ok(Hits { objects, more: false }),
                Some(_) if objects.len() >= most => return Ok(Hits { objects, more: true }),
                Some(id) => target = query(kind, &[("_page_id", &id)]),
            }
        }
    }
}
