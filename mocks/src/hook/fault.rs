//! What goes wrong with a call.

/// One way to fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This status, with a sentence.
    Status(u16, String),
    /// 503 with `Retry-After`, in seconds.
    Busy(u64),
    /// A page of somebody else, with status 200.
    Html,
    /// The first half of the right body.
    Half,
    /// The right body as another type.
    Media(String),
    /// Something that is JSON and none of the protocol.
    Shape(String),
    /// An empty list, as if there were nothing.
    Empty,
    /// No reply until it is [healed](super::Hook::heal), and nothing is done.
    Hang,
    /// The connection ends without a reply, and nothing is done.
    Cut,
    /// It is done, and the connection ends without a reply.
    LoseReply,
    /// It is done, and the reply is 500.
    FailAfterwards,
}
