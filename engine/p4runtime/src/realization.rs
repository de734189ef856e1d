//! From the config that a controller sends to a program that runs and to its names in P4Runtime.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use p4mesh_pipeline::{Executable, ParamInfo, Program};
use prost::Message;
use tonic::Status;

use crate::memory::decoded_bytes;
use crate::proto::info::P4Info;
use crate::proto::service::ForwardingPipelineConfig;
use crate::schema::Schema;
use crate::schema_build;

/// Configs that are kept. A campaign opens a new device for every measurement with the same one or
/// two programs.
const KEPT: usize = 4;
/// Larger configs are not kept.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// The last ones that were realized, of all devices of the process: they never change.
static RECENT: Mutex<VecDeque<Realized>> = Mutex::new(VecDeque::new());

/// A config that can be run.
#[derive(Clone)]
pub(crate) struct Realized {
    /// Its bytes, in buffers of their own.
    pub raw: ForwardingPipelineConfig,
    pub executable: Arc<Executable>,
    pub schema: Arc<Schema>,
}

/// Reads and checks a config, unless the same one has been read before.
///
/// # Errors
/// INVALID_ARGUMENT for a config that cannot be realized.
pub(crate) fn realize(raw: ForwardingPipelineConfig) -> Result<Realized, Status> {
    let same =
        |kept: &&Realized| kept.raw.p4info == raw.p4info && kept.raw.p4_device_config == raw.p4_device_config;
    let known = recent(|kept| kept.iter().find(same).cloned());
    if let Some(mut known) = known {
        known.raw.cookie = raw.cookie;
        return Ok(known);
    }
    let realized = read(raw)?;
    let bytes = realized.raw.p4_device_config.len() + realized.raw.p4info.as_ref().map_or(0, Bytes::len);
    // The numbers of strings belong to one pipeline config of one device.
    if bytes <= MAX_KEPT_BYTES && realized.schema.names.is_empty() {
        recent(|kept| {
            kept.truncate(KEPT - 1);
            kept.push_front(realized.clone());
        });
    }
    Ok(realized)
}

/// Upper bound of the memory that reading a config takes: of objects, pairs and elements of the JSON, and of the elements
/// of P4Info.
pub(crate) fn program_bytes(raw: &ForwardingPipelineConfig) -> usize {
    let json = |sum: usize, byte: &u8| {
        sum + match byte {
            b'{' => 768,
            b'[' | b':' => 128,
            b',' => 64,
            _ => 1,
        }
    };
    raw.p4_device_config.iter().fold(0, json) + raw.p4info.as_ref().map_or(0, |info| decoded_bytes(info))
}

fn recent<T>(use_them: impl FnOnce(&mut VecDeque<Realized>) -> T) -> T {
    // A panic elsewhere leaves whole entries behind.
    use_them(&mut RECENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

fn read(raw: ForwardingPipelineConfig) -> Result<Realized, Status> {
    let p4info = raw.p4info.clone().ok_or_else(|| Status::invalid_argument("the config has no p4info"))?;
    let info = P4Info::decode(p4info)
        .map_err(|error| Status::invalid_argument(format!("p4info cannot be decoded: {error}")))?;
    let json = unwrapped(&raw.p4_device_config);
    let text = std::str::from_utf8(&json)
        .map_err(|_| Status::invalid_argument("p4_device_config is not UTF-8 text; it must be BMv2 JSON"))?;
    let unused = |action: &str, params: &[ParamInfo]| schema_build::unused(&info, action, params);
    let program = Program::with_unused_params(text, &unused)
        .map_err(|error| Status::invalid_argument(format!("p4_device_config: {error}")))?;
    let schema = schema_build::build(&info, &program)?;
    let raw = ForwardingPipelineConfig {
        // Copies, so that the request buffer is not kept.
        p4info: raw.p4info.map(|bytes| Bytes::copy_from_slice(&bytes)),
        p4_device_config: Bytes::copy_from_slice(&raw.p4_device_config),
        cookie: raw.cookie,
    };
    Ok(Realized { raw, executable: Arc::new(Executable::new(program)), schema: Arc::new(schema) })
}

/// `p4.tmp.P4DeviceConfig`, which controllers written for older versions of simple_switch_grpc put
/// around the program.
#[derive(Clone, PartialEq, prost::Message)]
struct LegacyDeviceConfig {
    #[prost(bool, tag = "1")]
    reassign: bool,
    #[prost(bytes = "bytes", tag = "3")]
    device_data: Bytes,
}

/// The program without the wrapper that some controllers put around it.
fn unwrapped(config: &Bytes) -> Bytes {
    match LegacyDeviceConfig::decode(config.clone()) {
        Ok(legacy) if !legacy.device_data.is_empty() => legacy.device_data,
        _ => config.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::service::Cookie;

    fn config(cookie: u64, program: &str) -> ForwardingPipelineConfig {
        ForwardingPipelineConfig {
            p4info: Some(Bytes::new()),
            p4_device_config: Bytes::copy_from_slice(program.as_bytes()),
            cookie: Some(Cookie { cookie }),
        }
    }

    #[test]
    fn the_same_config_is_read_once_and_keeps_its_own_cookie() {
        let program = include_str!("../../pipeline/tests/programs/arithmetic.json");
        let first = realize(config(1, program)).unwrap();
        let again = realize(config(2, program)).unwrap();
        assert!(Arc::ptr_eq(&first.executable, &again.executable));
        assert!(Arc::ptr_eq(&first.schema, &again.schema));
        assert_eq!(again.raw.cookie, Some(Cookie { cookie: 2 }));
        let spaced = realize(config(1, &format!("{program} "))).unwrap();
        assert!(!Arc::ptr_eq(&first.executable, &spaced.executable));
        assert!(realize(config(1, "{")).is_err());
    }
}
