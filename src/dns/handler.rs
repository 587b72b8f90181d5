//! One request in, one response out: decide, fit, send, count.

use std::borrow::Cow;
use std::iter;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use hickory_proto::op::{Edns, Header, HeaderCounts, Metadata};
use hickory_proto::rr::Record;
use hickory_proto::rr::rdata::opt::EdnsOption;
use hickory_server::net::runtime::Time;
use hickory_server::net::xfer::Protocol;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;

use super::decide::{Ede, Question, decide, serial_at};
use super::fit::{Fit, UDP_LIMIT, fit, udp_limit};
use super::metrics::Metrics;
use super::snapshot::Snapshot;

/// The option that carries an extended DNS error (RFC 8914 §2).
const EDE_OPTION: u16 = 15;

/// Answers from the snapshot that was published last. Nothing in here waits, so a burst of questions cannot pile
/// up behind a lock.
pub struct Handler {
    snapshot: Arc<ArcSwap<Snapshot>>,
    metrics: Metrics,
}

impl Handler {
    /// Answers from whatever `snapshot` holds at the time of a question.
    pub fn new(snapshot: Arc<ArcSwap<Snapshot>>, metrics: Metrics) -> Self {
        Self { snapshot, metrics }
    }
}

#[async_trait]
impl RequestHandler for Handler {
    async fn handle_request<R: ResponseHandler, T: Time>(
        &self,
        request: &Request,
        mut response_handle: R,
    ) -> ResponseInfo {
        // A limit on the rate of answers per source will stand here.
        let snapshot = self.snapshot.load_full();
        let serial = serial_at(jiff::Timestamp::now().as_second());
        let question = question(request);
        let plan = decide(&snapshot, &question, serial, &mut rand::rng());
        let edns = request.edns.as_ref().map(|client| response_edns(client, plan.ede));
        let udp = request.protocol() == Protocol::Udp;
        let limit = if udp { udp_limit(request.edns.as_ref()) } else { u16::MAX };
        let Fit { answers, authority, truncated } = fit(&request.queries, &plan, edns.as_ref(), limit);

        let mut metadata = Metadata::response_from_request(&request.metadata);
        metadata.response_code = plan.rcode;
        metadata.authoritative = plan.aa;
        metadata.truncation = truncated;
        let response = MessageResponseBuilder::new(&request.queries, edns.as_ref()).build(
            metadata,
            plan.answers.iter().take(answers).map(Cow::as_ref),
            plan.authority.as_ref().filter(|_| authority),
            iter::empty::<&Record>(),
            iter::empty::<&Record>(),
        );
        self.metrics.count_query(plan.rcode, udp, truncated);
        match response_handle.send_response(response).await {
            Ok(info) => info,
            Err(error) => {
                tracing::debug!(%error, "Could not send an answer.");
                ResponseInfo::from(Header { metadata, counts: HeaderCounts::default() })
            }
        }
    }
}

fn question(request: &Request) -> Question<'_> {
    let query = match request.queries.queries() {
        [query] => Some(query),
        _ => None,
    };
    let edns_version = request.edns.as_ref().map(Edns::version);
    Question { op_code: request.metadata.op_code, query, edns_version }
}

fn response_edns(client: &Edns, ede: Option<Ede>) -> Edns {
    let mut edns = Edns::new();
    edns.set_max_payload(UDP_LIMIT);
    // RFC 3225 §3: the bit is copied, although nothing is signed.
    edns.set_dnssec_ok(client.flags().dnssec_ok);
    if let Some(ede) = ede {
        edns.options_mut().insert(EdnsOption::Unknown(EDE_OPTION, ede.code().to_be_bytes().to_vec()));
    }
    edns
}
