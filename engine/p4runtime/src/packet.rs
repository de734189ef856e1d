//! Packet I/O (P4Runtime section 16.1): controller headers in front of frames.

use std::sync::Arc;

use bytes::Bytes;

use crate::names::Names;
use crate::proto::stream::{PacketIn, PacketMetadata, PacketOut};
use crate::refusal::{Outcome, Refusal};
use crate::value;

#[derive(Clone, Debug)]
pub struct PacketField {
    pub id: u32,
    pub name: String,
    /// Of a type that is translated to strings.
    pub names: Option<Arc<Names>>,
    pub width_bits: u32,
}

/// The layout of `packet_in` or `packet_out`: fields in wire order. The header takes whole bytes;
/// bits left over in the last byte are zero.
#[derive(Clone, Debug, Default)]
pub struct PacketHeader {
    pub fields: Vec<PacketField>,
}

impl PacketHeader {
    /// Length on the wire.
    pub fn length_bytes(&self) -> usize {
        let bits: u32 = self.fields.iter().map(|field| field.width_bits).sum();
        bits.div_ceil(8) as usize
    }

    /// The frame for the CPU port: header and payload.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a metadata id that is unknown, given twice or missing; OUT_OF_RANGE
    /// for a value wider than its field.
    pub fn frame(&self, packet: &PacketOut) -> Outcome<Vec<u8>> {
        let header_bytes = self.length_bytes();
        let mut frame = Vec::with_capacity(header_bytes + packet.payload.len());
        frame.resize(header_bytes, 0);
        for (index, given) in packet.metadata.iter().enumerate() {
            let id = given.metadata_id;
            if !self.fields.iter().any(|field| field.id == id) {
                return Err(Refusal::invalid(format!(
                    "packet_out: no metadata with id {id}; valid: {}",
                    self.names()
                )));
            }
            if packet.metadata[..index].iter().any(|other| other.metadata_id == id) {
                return Err(Refusal::invalid(format!("packet_out: metadata id {id} is given twice")));
            }
        }
        let mut offset_bits = 0;
        for field in &self.fields {
            let given =
                packet.metadata.iter().find(|given| given.metadata_id == field.id).ok_or_else(|| {
                    Refusal::invalid(format!("packet_out: metadata '{}' is missing", field.name))
                })?;
            let what = || format!("packet_out: metadata '{}'", field.name);
            match &field.names {
                None => {
                    let bytes = value::checked(&given.value, field.width_bits, what)?;
                    put_bits(&mut frame, offset_bits, field.width_bits, bytes);
                }
                Some(names) => {
                    let bytes = names.number(&given.value, field.width_bits, what)?;
                    put_bits(&mut frame, offset_bits, field.width_bits, &bytes);
                }
            }
            offset_bits += field.width_bits;
        }
        frame.extend_from_slice(&packet.payload);
        Ok(frame)
    }

    /// The message for a frame from the CPU port; `None` when it is shorter than the header.
    pub fn packet_in(&self, frame: Bytes) -> Option<PacketIn> {
        let header_bytes = self.length_bytes();
        if frame.len() < header_bytes {
            return None;
        }
        let mut offset_bits = 0;
        let metadata = self
            .fields
            .iter()
            .map(|field| {
                let mut value = get_bits(&frame, offset_bits, field.width_bits);
                if let Some(names) = &field.names {
                    value = names.text(&value);
                }
                offset_bits += field.width_bits;
                PacketMetadata { metadata_id: field.id, value }
            })
            .collect();
        Some(PacketIn { payload: frame.slice(header_bytes..), metadata })
    }

    fn names(&self) -> String {
        let names: Vec<String> =
            self.fields.iter().map(|field| format!("{} ({})", field.id, field.name)).collect();
        names.join(", ")
    }
}

/// Writes the low `width_bits` of `value` at a bit offset of a zeroed buffer.
fn put_bits(buffer: &mut [u8], offset_bits: u32, width_bits: u32, value: &[u8]) {
    let mut bit = offset_bits + width_bits;
    for byte in value.iter().rev() {
        if bit <= offset_bits {
            return;
        }
        let shift = (8 - bit % 8) % 8;
        let last = (bit as usize - 1) / 8;
        let wide = u16::from(*byte) << shift;
        buffer[last] |= wide as u8;
        if wide > 0xff {
            buffer[last - 1] |= (wide >> 8) as u8;
        }
        bit = bit.saturating_sub(8);
    }
}

/// Reads `width_bits` at a bit offset, in canonical form.
fn get_bits(buffer: &Bytes, offset_bits: u32, width_bits: u32) -> Bytes {
    let first = offset_bits as usize / 8;
    if offset_bits % 8 == 0 && width_bits % 8 == 0 {
        let bytes = &buffer[first..first + width_bits as usize / 8];
        let skip = bytes.len() - value::canonical(bytes).len();
        return buffer.slice(first + skip..first + bytes.len());
    }
    let mut bytes = vec![0u8; width_bits.div_ceil(8) as usize];
    for index in 0..width_bits {
        let from = offset_bits + index;
        let bit = buffer[from as usize / 8] >> (7 - from % 8) & 1;
        let to = bytes.len() as u32 * 8 - width_bits + index;
        bytes[to as usize / 8] |= bit << (7 - to % 8);
    }
    value::canonical_bytes(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(widths: &[u32]) -> PacketHeader {
        PacketHeader {
            fields: widths
                .iter()
                .enumerate()
                .map(|(index, width)| PacketField {
                    id: index as u32 + 1,
                    name: format!("f{index}"),
                    names: None,
                    width_bits: *width,
                })
                .collect(),
        }
    }

    fn packet(values: &[&'static [u8]]) -> PacketOut {
        PacketOut {
            payload: Bytes::from_static(b"xyz"),
            metadata: values
                .iter()
                .enumerate()
                .map(|(index, value)| PacketMetadata {
                    metadata_id: index as u32 + 1,
                    value: Bytes::from_static(value),
                })
                .collect(),
        }
    }

    #[test]
    fn unaligned_fields_pack_in_order() {
        let header = header(&[9, 7, 3, 16, 5]);
        let frame = header.frame(&packet(&[&[1, 0xaa], &[0x55], &[5], &[0xbe, 0xef], &[0x1f]])).unwrap();
        let bits: u64 = (0x1aa << 31) | (0x55 << 24) | (5 << 21) | (0xbeef << 5) | 0x1f;
        assert_eq!(frame[..5], bits.to_be_bytes()[3..]);
        assert_eq!(&frame[5..], b"xyz");
        let back = header.packet_in(Bytes::from(frame)).unwrap();
        assert_eq!(back.payload, Bytes::from_static(b"xyz"));
        let values: Vec<&[u8]> = back.metadata.iter().map(|m| &m.value[..]).collect();
        assert_eq!(values, [&[1u8, 0xaa][..], &[0x55], &[5], &[0xbe, 0xef], &[0x1f]]);
    }

    #[test]
    fn short_frames_are_refused() {
        assert!(header(&[16]).packet_in(Bytes::from_static(&[1])).is_none());
        assert!(header(&[16]).packet_in(Bytes::from_static(&[0, 1])).is_some());
    }

    #[test]
    fn every_metadata_field_is_needed_once() {
        let header = header(&[16, 8]);
        let missing = header.frame(&packet(&[&[1]])).unwrap_err();
        assert_eq!(missing.message, "packet_out: metadata 'f1' is missing");
        let wide = header.frame(&packet(&[&[1, 0, 0], &[1]])).unwrap_err();
        assert_eq!(wide.code, tonic::Code::OutOfRange);
    }
}
