//! What stands before several replicas: each new connection goes to the first that takes it.

use crate::bound::within;
use anyhow::{Result, anyhow};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A TCP forwarder on a loopback port; gone on drop, with its connections.
pub struct Balancer {
    address: SocketAddr,
    targets: Arc<Mutex<Vec<String>>>,
    cut: watch::Sender<bool>,
    /// Connections that came while it took none.
    refused: watch::Sender<usize>,
    task: JoinHandle<()>,
}

impl Balancer {
    /// Forwards to these `http://host:port`, in order of preference.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start(targets: &[&str]) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let strip = |t: &&str| {
            t.trim_start_matches("http://")
                .trim_end_matches('/')
                .to_owned()
        };
        let targets = Arc::new(Mutex::new(targets.iter().map(strip).collect::<Vec<_>>()));
        let known = Arc::clone(&targets);
        let cut = watch::Sender::new(false);
        let watched = cut.subscribe();
        let refused = watch::Sender::new(0);
        let count = refused.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (known, mut watched) = (Arc::clone(&known), watched.clone());
                if *watched.borrow() {
                    count.send_modify(|count| *count += 1);
                }
                connections.spawn(async move {
                    tokio::select! {
                        biased;
                        _ = watched.wait_for(|cut| *cut) => Ok(()),
                        done = forward(stream, known) => done,
                    }
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self {
            address,
            targets,
            cut,
            refused,
            task,
        })
    }

    /// Ends every connection and takes no other one until it is called with `false`.
    pub fn cut(&self, cut: bool) {
        self.cut.send_replace(cut);
    }

    /// Waits until so many connections in all came while it took none.
    ///
    /// # Errors
    /// When they do not come within the limit.
    pub async fn until_refused(&self, count: usize) -> Result<()> {
        let mut refused = self.refused.subscribe();
        within(
            "connections to be refused",
            refused.wait_for(|n| *n >= count),
        )
        .await??;
        Ok(())
    }

    /// `http://host:port` of the forwarder.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sends new connections elsewhere.
    pub fn retarget(&self, targets: &[&str]) {
        let strip = |t: &&str| {
            t.trim_start_matches("http://")
                .trim_end_matches('/')
                .to_owned()
        };
        let mut known = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        *known = targets.iter().map(strip).collect();
    }
}

async fn forward(mut stream: TcpStream, targets: Arc<Mutex<Vec<String>>>) -> Result<()> {
    let targets = targets
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    for target in targets {
        if let Ok(mut behind) = TcpStream::connect(&target).await {
            stream.set_nodelay(true)?;
            behind.set_nodelay(true)?;
            copy_bidirectional(&mut stream, &mut behind).await?;
            return Ok(());
        }
    }
    Err(anyhow!("no replica takes connections"))
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
