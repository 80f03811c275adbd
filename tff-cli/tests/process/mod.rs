//! The programs of this crate as processes, and what they tell over the network.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test uses its part of it")]

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub type Outcome = Result<(), Box<dyn Error>>;

pub const WORKER: &str = env!("CARGO_BIN_EXE_tff-worker");
pub const TFF: &str = env!("CARGO_BIN_EXE_tff");

/// Longer than anything in a test takes, on a machine that is busy with other things too.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A process that does not outlive the test.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    pub fn start(command: &mut Command) -> Result<Self, Box<dyn Error>> {
        Ok(Self(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?))
    }

    /// Starts a worker on a free port, and returns the port.
    pub fn worker(args: &[&str]) -> Result<(Self, u16), Box<dyn Error>> {
        let mut process = Self::start(Command::new(WORKER).arg("--port=0").args(args))?;
        let port = process.port()?;
        Ok((process, port))
    }

    /// The port that the process prints first.
    pub fn port(&mut self) -> Result<u16, Box<dyn Error>> {
        let stdout = self.0.stdout.take().ok_or("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        Ok(line.trim().parse().map_err(|_| format!("no port: {line:?}"))?)
    }

    pub fn signal(&self, name: &str) -> Result<(), Box<dyn Error>> {
        let status = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status()?;
        if status.success() { Ok(()) } else { Err(format!("kill: {status}").into()) }
    }

    /// Waits for its end, and returns how long that took.
    pub fn wait(&mut self) -> Result<(ExitStatus, Duration), Box<dyn Error>> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.0.try_wait()? {
                return Ok((status, start.elapsed()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err("it does not end".into())
    }

    pub fn stderr(&mut self) -> Result<String, Box<dyn Error>> {
        let mut text = String::new();
        self.0.stderr.take().ok_or("no stderr")?.read_to_string(&mut text)?;
        Ok(text)
    }
}

pub fn free_port() -> Result<u16, Box<dyn Error>> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

pub fn scrape(address: SocketAddr) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}
