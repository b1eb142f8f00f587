//! A real browser: headless Chromium driven through chromedriver.

use crate::bound::within;
use crate::places::folder;
use crate::process::Process;
use crate::program::Program;
use anyhow::{Context as _, Result, anyhow};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fantoccini::elements::Element;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A window of Chromium is never narrower, in CSS pixels; what is has to be emulated as a phone.
const NARROWEST: u32 = 500;

/// A browser window with a profile of its own; gone on drop.
pub struct Browser {
    /// The window.
    pub page: Client,
    driver: String,
    _driver: Process,
    profile: TempDir,
}

impl Browser {
    /// Opens a window of this size in CSS pixels. A narrow one is laid out as on a phone.
    ///
    /// # Errors
    /// When Chromium or its driver is missing or does not start within the limit.
    pub async fn open(width: u32, height: u32) -> Result<Self> {
        let profile = folder()?;
        let mut command = Program::new("chromedriver");
        command.arg("--port=0").env("HOME", profile.path());
        let driver = Process::spawn("chromedriver", command)
            .context("chromium and chromium-driver are needed; ./test brings them")?;
        let mut log = driver.stdout.clone();
        let started = log
            .find(|l| l.contains("started successfully on port"))
            .await?;
        let port = started
            .trim_end_matches('.')
            .rsplit(' ')
            .next()
            .unwrap_or_default();
        let profile_dir = format!("--user-data-dir={}", profile.path().display());
        let size = format!("--window-size={width},{height}");
        let args = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--lang=en",
            // Names that are this machine, and no place that a browser trusts without TLS.
            "--host-resolver-rules=MAP *.test 127.0.0.1",
            &size,
            &profile_dir,
        ];
        let mut options = json!({"args": args});
        if width < NARROWEST {
            let metrics = json!({"width": width, "height": height, "pixelRatio": 1.0});
            options["mobileEmulation"] = json!({"deviceMetrics": metrics});
        }
        let capabilities = json!({"goog:chromeOptions": options});
        let capabilities = capabilities.as_object().cloned().unwrap_or_default();
        let address = format!("http://127.0.0.1:{port}");
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let connected = builder.capabilities(capabilities);
        let page = within("Chromium to start", connected.connect(&address)).await??;
        Ok(Self {
            page,
            driver: address,
            _driver: driver,
            profile,
        })
    }

    /// Gives a command of Chromium's own protocol: emulated media, permissions, an input method, scripts
    /// that run before a page's own.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn devtools(
        &self,
        command: &str,
        params: serde_json::Value,
    ) -> Result<serde_json::Value> {
        let session = self
            .page
            .session_id()
            .await?
            .context("the window is closed")?;
        let address = format!("{}/session/{session}/goog/cdp/execute", self.driver);
        let body = json!({"cmd": command, "params": params}).to_string();
        let request = reqwest::Client::new().post(address).body(body).send();
        let reply = within(command, request).await??;
        let status = reply.status();
        let text = reply.text().await?;
        anyhow::ensure!(status.is_success(), "{command}: {text}");
        let reply: serde_json::Value = serde_json::from_str(&text)?;
        Ok(reply["value"].clone())
    }

    /// Runs a script in every page of this window before the page's own.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn before_pages(&self, script: &str) -> Result<()> {
        let params = json!({"source": script});
        self.devtools("Page.addScriptToEvaluateOnNewDocument", params)
            .await?;
        Ok(())
    }

    /// Waits until an expression of the page is true.
    ///
    /// # Errors
    /// When it is not within the limit.
    pub async fn until(&self, expression: &str) -> Result<()> {
        let script = format!(
            "const done = arguments[0];
            const look = () => {{
                let holds = false;
                try {{ holds = Boolean({expression}); }} catch {{ }}
                if (holds) done(true); else setTimeout(look, 20);
            }};
            look();"
        );
        let seen = within(expression, self.page.execute_async(&script, Vec::new())).await;
        match seen {
            Ok(Ok(_)) => Ok(()),
            other => Err(anyhow!(
                "not true: {expression}: {other:?}; the page says: {}",
                self.text().await
            )),
        }
    }

    /// Goes to an address.
    ///
    /// # Errors
    /// When it does not load within the limit.
    pub async fn goto(&self, url: &str) -> Result<()> {
        Ok(within(url, self.page.goto(url)).await??)
    }

    /// Waits for an element.
    ///
    /// # Errors
    /// When it is not there within the limit.
    pub async fn find(&self, css: &str) -> Result<Element> {
        let waiting = self
            .page
            .wait()
            .at_most(crate::LIMIT)
            .for_element(Locator::Css(css));
        match waiting.await {
            Ok(element) => Ok(element),
            Err(error) => Err(anyhow!(
                "{css}: {error}; the page says: {}",
                self.text().await
            )),
        }
    }

    /// Brings an element into view and clicks it, as a person would: an element that something
    /// else covers is not clicked.
    ///
    /// # Errors
    /// When it is not there, or cannot be clicked.
    pub async fn click(&self, css: &str) -> Result<()> {
        self.find(css)
            .await?
            .click()
            .await
            .with_context(|| format!("click {css}"))
    }

    /// What a script returns. `script` is the body of a function.
    ///
    /// # Errors
    /// When it throws.
    pub async fn run(&self, script: &str) -> Result<serde_json::Value> {
        Ok(within(
            "a script on the page",
            self.page.execute(script, Vec::new()),
        )
        .await??)
    }

    /// The text on the page; empty when there is none to be had.
    pub async fn text(&self) -> String {
        let text = self
            .run("return document.body ? document.body.innerText : '';")
            .await;
        text.ok()
            .and_then(|t| t.as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// Writes a picture of the window.
    ///
    /// # Errors
    /// When it cannot be taken or written.
    pub async fn screenshot(&self, path: &Path) -> Result<()> {
        let png = within("the screenshot", self.page.screenshot()).await??;
        fs::write(path, png).with_context(|| path.display().to_string())
    }

    /// Writes a picture of the whole page, also of what is below the window's end.
    ///
    /// # Errors
    /// When it cannot be taken or written.
    pub async fn whole_page(&self, path: &Path) -> Result<()> {
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let taken = self.devtools("Page.captureScreenshot", params).await?;
        let png = taken["data"].as_str().context("a picture")?;
        let png = BASE64_STANDARD.decode(png)?;
        fs::write(path, png).with_context(|| path.display().to_string())
    }

    /// Closes the window.
    ///
    /// # Errors
    /// When it does not close within the limit.
    pub async fn close(self) -> Result<()> {
        Ok(within("Chromium to close", self.page.clone().close()).await??)
    }
}

impl Drop for Browser {
    /// The driver puts Chromium into a group of its own, so it is known by its profile folder.
    fn drop(&mut self) {
        let mark = self.profile.path().display().to_string();
        let Ok(processes) = fs::read_dir("/proc") else {
            return;
        };
        for id in processes
            .flatten()
            .filter_map(|p| p.file_name().to_str()?.parse::<i32>().ok())
        {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&line).contains(&mark) {
                // An error only says that it has ended by itself.
                let _ = Pid::from_raw(id).map(|pid| kill_process(pid, Signal::KILL));
            }
        }
    }
}
