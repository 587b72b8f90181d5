//! The sample application: one page for each site, which can be stopped.

use std::net::SocketAddr;
use std::sync::Mutex;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::topology::{HOST, Site};

/// The application of one site.
#[derive(Debug)]
pub(super) struct Application {
    site: Site,
    address: SocketAddr,
    serving: Mutex<Option<JoinHandle<()>>>,
}

impl Application {
    /// Starts it on a bound socket.
    ///
    /// # Errors
    /// The socket has no address.
    pub(super) fn start(site: Site, listener: TcpListener) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        Ok(Self { site, address, serving: Mutex::new(Some(serve(site, listener))) })
    }

    /// Stops listening; whoever connects is refused.
    pub(super) fn stop(&self) {
        if let Some(serving) = self.lock().take() {
            serving.abort();
        }
    }

    /// Listens again.
    ///
    /// # Errors
    /// Somebody else took the port.
    pub(super) async fn restart(&self) -> std::io::Result<()> {
        if self.lock().is_some() {
            return Ok(());
        }
        let listener = TcpListener::bind(self.address).await?;
        self.lock().replace(serve(self.site, listener)).inspect(JoinHandle::abort);
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        self.serving.lock().expect("no panic while the application is locked")
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(site: Site, listener: TcpListener) -> JoinHandle<()> {
    let page = move || async move { format!("{HOST} served by {site}\n") };
    let router = Router::new().fallback(page);
    tokio::spawn(async move {
        // It only ends by being aborted.
        axum::serve(listener, router).await.unwrap_or_default();
    })
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn a_stopped_application_refuses_connections_until_it_is_started_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let application = Application::start(Site::Eu, listener).unwrap();
        assert!(TcpStream::connect(application.address).await.is_ok());
        application.stop();
        tokio::task::yield_now().await;
        while TcpStream::connect(application.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        application.restart().await.unwrap();
        assert!(TcpStream::connect(application.address).await.is_ok());
    }
}
