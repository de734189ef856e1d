//! A device that runs `everything.p4`, without a server around it.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use p4mesh_p4runtime::proto::service::*;
use p4mesh_p4runtime::proto::stream::{MasterArbitrationUpdate, PacketOut};
use p4mesh_p4runtime::proto::Uint128;
use p4mesh_p4runtime::{verify, Device, Memory, Read, Received, Target};
use p4mesh_pipeline::{Executable, Switch, SwitchConfig};
use prost::Message;
use tonic::Status;

/// Ports 0 to 7 and the CPU port; packet-outs vanish.
#[derive(Default)]
pub struct LocalTarget {
    switch: Option<Switch>,
    pub packet_outs: Vec<Vec<u8>>,
}

impl Target for LocalTarget {
    fn switch(&mut self) -> Option<&mut Switch> {
        self.switch.as_mut()
    }

    fn install(&mut self, executable: Arc<Executable>) -> Result<(), String> {
        self.switch = Some(Switch::new(executable, SwitchConfig::default()));
        Ok(())
    }

    fn packet_out(&mut self, frame: Vec<u8>) {
        self.packet_outs.push(frame);
    }

    fn now_ps(&self) -> u64 {
        0
    }

    fn has_port(&self, port: u16) -> bool {
        port < 8 || port == 510
    }
}

pub fn file(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub const DEVICE_ID: u64 = 1;
pub const STREAM: u64 = 1;

pub fn config() -> ForwardingPipelineConfig {
    ForwardingPipelineConfig {
        p4info: Some(file("programs/everything.p4info.bin").into()),
        p4_device_config: file("programs/everything.json").into(),
        cookie: None,
    }
}

/// A device with a primary controller on stream 1 and the program committed.
pub fn device() -> (Device, Arc<Mutex<LocalTarget>>) {
    let target = Arc::new(Mutex::new(LocalTarget::default()));
    let mut device = Device::new(DEVICE_ID, target.clone());
    let primary = MasterArbitrationUpdate {
        device_id: DEVICE_ID,
        election_id: Some(Uint128::from(1)),
        ..MasterArbitrationUpdate::default()
    };
    device.arbitrate(STREAM, &primary).expect("arbitration");
    let action = PipelineAction::VerifyAndCommit as i32;
    let (action, verified) = verify(action, Some(config())).expect("config");
    device.set(action, verified).expect("commit");
    (device, target)
}

/// A request of the primary.
pub fn write(updates: Vec<Update>) -> WriteRequest {
    WriteRequest {
        device_id: DEVICE_ID,
        election_id: Some(Uint128::from(1)),
        updates,
        ..WriteRequest::default()
    }
}

/// A message as the server receives it, with memory for 64 MiB.
pub fn received(message: &impl Message) -> Received {
    let bytes = Bytes::from(message.encode_to_vec());
    let share = Memory::new(64 << 20).share(bytes.len()).expect("memory");
    Received { bytes, share }
}

/// Sends a Write; the status lists the outcomes that fit into 4,000 bytes.
pub fn send_write(device: &mut Device, request: &WriteRequest) -> Result<(), Status> {
    device.write(&received(request), 4_000)
}

/// All answers to a Read and its status.
pub fn send_read(device: &mut Device, request: &ReadRequest) -> (Vec<Bytes>, Option<Status>) {
    let mut read = Read::new(received(request), 4_000).expect("a read");
    let mut messages = Vec::new();
    loop {
        let (message, has_more) = device.read(&mut read).expect("an answer");
        messages.push(message);
        if !has_more {
            return (messages, read.status());
        }
    }
}

pub fn send(device: &mut Device, packet: &PacketOut) -> bool {
    device.packet_out(STREAM, packet).is_ok()
}
