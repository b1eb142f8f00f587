//! A real nginx in front of a service.

use crate::places::folder;
use crate::process::Process;
use crate::program::Program;
use crate::within;
use anyhow::{Context as _, Result};
use std::path::Path;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

/// A running nginx with a folder of its own.
pub struct Nginx {
    process: Process,
    folder: TempDir,
    port: u16,
}

impl Nginx {
    /// Starts one with this `server { … }` block, in which `PORT` stands for a free port of loopback and
    /// `FOLDER` for its folder. `files` are put there first.
    ///
    /// # Errors
    /// When it is missing, refuses the block, or does not listen within the limit.
    pub async fn start(server: &str, files: &[(&str, &str)]) -> Result<Self> {
        let folder = folder()?;
        let place = folder.path().display().to_string();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text)?;
        }
        let port = free_port().await?;
        let server = server
            .replace("PORT", &port.to_string())
            .replace("FOLDER", &place);
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {place}/{kind};"))
            .join("\n");
        let whole = format!(
            "daemon off;\nmaster_process off;\npid {place}/pid;\nerror_log stderr;\n\
             events {{ worker_connections 4096; }}\n\
             http {{\naccess_log off;\n{temporary}\n{server}\n}}\n"
        );
        std::fs::write(folder.path().join("nginx.conf"), whole)?;
        let process = run(folder.path())?;
        let nginx = Self {
            process,
            folder,
            port,
        };
        within("nginx to listen", nginx.listening()).await?;
        Ok(nginx)
    }

    async fn listening(&self) {
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            tokio::task::yield_now().await;
        }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it wrote on standard error.
    pub fn errors(&self) -> Vec<String> {
        self.process.stderr.all()
    }
}

async fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port())
}

fn run(folder: &Path) -> Result<Process> {
    // Where Debian puts it; not on everybody's PATH.
    let places = ["/usr/sbin/nginx", "/usr/local/sbin/nginx"];
    let program = places.iter().find(|place| Path::new(place).exists());
    let mut command = Program::new(program.context("nginx is needed; ./test brings it")?);
    command
        .arg("-c")
        .arg(folder.join("nginx.conf"))
        .arg("-p")
        .arg(folder);
    Process::spawn("nginx", command)
}
