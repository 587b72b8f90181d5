//! What every DNS provider adapter promises.
