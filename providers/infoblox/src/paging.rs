//! Searches, page by page.

use serde::Deserialize;
use serde_json::Value;

use crate::answer::{Failure, Kind};
use crate::provider::{Infoblox, query};

/// Fewest objects on a page. One that is too large even then has objects that nobody means: of 50 kilobytes, or of a
/// thousand values. No outside reference.
const LEAST_ON_PAGE: usize = 20;

/// What is searched for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search<'a> {
    /// Type of the objects.
    pub(crate) kind: &'a str,
    pub(crate) criteria: &'a [(&'a str, &'a str)],
    /// Objects on a page, 1 to 1000 (reference.md §2.4), so that a page of the largest ones stays well within what is
    /// [read of a reply](crate::bounds). If it does not, smaller pages are asked for.
    pub(crate) on_page: usize,
    /// Objects in all.
    pub(crate) most: usize,
}

/// What was made of the objects of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Gathered<T> {
    pub(crate) made: T,
    /// There are more objects than were asked for.
    pub(crate) more: bool,
}

impl Infoblox {
    /// All objects of a search, as `add` takes them, one page at a time: a whole zone is never in memory as the grid wrote
    /// it. What was not read to its end says nothing, so more objects than are asked for are an error.
    pub(crate) async fn gather_all<T: Default>(
        &self,
        search: Search<'_>,
        add: impl FnMut(&mut T, Vec<Value>) -> Result<(), Failure>,
    ) -> Result<T, Failure> {
        let gathered = self.gather(search, add).await?;
        match gathered.more {
            false => Ok(gathered.made),
            true => {
                let Search { kind, most, .. } = search;
                Err(self.unexpected(&format!("holds more than {most} objects of {kind} there")))
            }
        }
    }

    /// The same of about as many objects as are asked for, if there are more.
    pub(crate) async fn gather<T: Default>(
        &self,
        search: Search<'_>,
        mut add: impl FnMut(&mut T, Vec<Value>) -> Result<(), Failure>,
    ) -> Result<Gathered<T>, Failure> {
        let mut on_page = search.on_page;
        loop {
            let outcome = self.in_pages(Search { on_page, ..search }, &mut add).await;
            let too_large = matches!(outcome, Err(Failure { kind: Kind::TooLarge, .. }));
            if !too_large || on_page <= LEAST_ON_PAGE {
                return outcome;
            }
            on_page = (on_page / 2).max(LEAST_ON_PAGE);
        }
    }

    async fn in_pages<T: Default>(
        &self,
        Search { kind, criteria, on_page, most }: Search<'_>,
        add: &mut impl FnMut(&mut T, Vec<Value>) -> Result<(), Failure>,
    ) -> Result<Gathered<T>, Failure> {
        let size = on_page.to_string();
        let paging = [("_paging", "1"), ("_return_as_object", "1"), ("_max_results", size.as_str())];
        let mut target = query(kind, &[criteria, &paging].concat());
        let (mut made, mut count) = (T::default(), 0);
        loop {
            let page: Page = self.parse(self.client.read(target).await?)?;
            count += page.result.len();
            add(&mut made, page.result)?;
            match page.next_page_id {
                None => return Ok(Gathered { made, more: false }),
                Some(_) if count >= most => return Ok(Gathered { made, more: true }),
                Some(id) => target = query(kind, &[("_page_id", &id)]),
            }
        }
    }
}

/// One page of a search.
#[derive(Debug, Deserialize)]
struct Page {
    result: Vec<Value>,
    #[serde(default)]
    next_page_id: Option<String>,
}
