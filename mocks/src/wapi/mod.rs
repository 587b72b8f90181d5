//! A stateful stand-in for Infoblox NIOS: the WAPI over HTTPS, and DNS for the zones that it holds.
//!
//! It reproduces what public material shows of real grids; where nothing is known, [`Rules`] is a switch.
//! A test starts it in a few lines:
//!
//! ```no_run
//! use gslb_mocks::wapi::{Fault, Grid, RestartMode, SimulatorTls};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let grid = Grid::builder()
//!     .username("svc-dns")
//!     .password("secret")
//!     .zone_auth("example.com", "default")
//!     .restart(RestartMode::Manual)
//!     .build()?;
//! let tls = SimulatorTls::generate(&[])?;
//! let server = grid.serve_https(std::net::TcpListener::bind("127.0.0.1:0")?, &tls)?;
//! println!("{}/wapi/v2.12.3/", server.url());
//! grid.faults().inject(Fault::Unavailable.on_method("POST").times(1));
//! # Ok(())
//! # }
//! ```

mod access;
mod account;
mod admin;
mod admins;
mod api;
mod batch;
mod dnssec;
mod error;
mod fault;
mod function;
mod grid;
mod host_address;
mod http;
mod journal;
pub(crate) mod listen;
mod name;
mod pages;
mod query;
mod read;
mod record;
mod reference;
mod schema;
mod served;
mod state;
mod store;
mod task;
mod tls;
mod turns;
mod txt;
mod types;
mod value;
mod write;
mod zone;

pub use crate::dns::{DnsServer, DnsSockets};
pub use account::{Account, Lockout, Rules};
pub use admin::{Admin, Delegation, NameServer};
pub use error::WapiError;
pub use fault::{Fault, FaultRule, Faults, UnknownFault};
pub use grid::{Grid, GridBuilder};
pub use journal::{Entry, Journal};
pub use listen::HttpServer;
pub use state::RestartMode;
pub use tls::{SimulatorTls, TlsError};
pub use turns::Turns;
