//! A proxy of the kind that laptops are put behind: it knows `CONNECT` and nothing else.

use anyhow::Result;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A running proxy; gone on drop, with all that goes through it.
pub struct ConnectProxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl ConnectProxy {
    /// Starts one on a free port of loopback. It lets through whoever names `user` (`name:password`), in
    /// base64, and takes them to `to`, whatever host they ask for.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start(user_in_base64: &str, to: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let user = format!("Basic {user_in_base64}");
        let heard = Arc::clone(&asked);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut tunnels: JoinSet<Option<()>> = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let tunnel = tunnel(stream, user.clone(), to, Arc::clone(&heard));
                tunnels.spawn(tunnel);
            }
        });
        Ok(Self {
            address,
            asked,
            _serving: serving,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The hosts that were asked for.
    pub fn asked(&self) -> Vec<String> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

async fn tunnel(
    stream: TcpStream,
    user: String,
    to: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let mut words = head.first()?.split(' ');
    let host = (words.next() == Some("CONNECT")).then(|| words.next())??;
    let known = head.iter().skip(1).filter_map(|line| line.split_once(": "));
    let known = known
        .filter(|(name, _)| name.eq_ignore_ascii_case("proxy-authorization"))
        .any(|(_, value)| value == user);
    if !known {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
        return stream.write_all(refusal).await.ok();
    }
    asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(host.to_owned());
    let mut other = TcpStream::connect(to).await.ok()?;
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
    copy_bidirectional(&mut stream, &mut other).await.ok()?;
    Some(())
}
