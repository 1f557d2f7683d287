//! What a request becomes: on the disk no more than a multiple of its bytes, or it is refused; and each trace reads back as
//! what it is in the request.

use std::path::Path;
use std::sync::Arc;

use arbitrary::Unstructured;
use spanbridge::otlp::{decode, scan};
use spanbridge::span::Signal;
use spanbridge::store::disk::Disk as _;
use spanbridge::store::log::{Log, Position, SEGMENT_HEAD, Segment, file_name};
use spanbridge::store::{Chunk, ChunkKind};

use super::bodies::Body;
use super::memory::MemoryDisk;
use super::wire_scan::same;

/// Holds the law over the request that these bytes mean.
pub fn run(data: &[u8]) {
    let Ok(body) = Body::of(&mut Unstructured::new(data)) else { return };
    let request = body.protobuf();
    let signal = if body.logs { Signal::Logs } else { Signal::Traces };
    let scanned = scan::scan(&request, signal, &["session.id"]).expect("a request");
    let (items, refused) = (scanned.items, scanned.refused_count);
    let divided = Chunk::divide(scanned, request.clone());
    assert_eq!(
        divided.chunks.iter().map(|chunk| chunk.part().items).sum::<usize>(),
        items - refused
    );
    assert_eq!(divided.chunks.iter().map(Chunk::length).sum::<usize>(), divided.messages);
    let disk = MemoryDisk::default();
    let start = Position { segment: 0, offset: 0 };
    let open = Log::open(Arc::new(disk.clone()), Path::new("log"), (u64::MAX, None), start, &mut |_, _, _| {
        Ok(())
    });
    let (mut log, _) = open.expect("opens");
    let places = log.write(&divided.chunks, 7).expect("writes");
    log.begin_sync();
    log.finish().expect("is on the disk");
    let stored = usize::try_from(log.end().offset - SEGMENT_HEAD).expect("small");
    assert!(
        stored <= divided.stored,
        "{stored} bytes are stored, {} were told: {body:?}",
        divided.stored
    );
    // With items of 20 bytes and more; what has less is refused by these figures.
    let own = divided.chunks.len() * 80;
    assert!(
        divided.stored <= 3 * request.len() + own,
        "{} of {} bytes: {body:?}",
        divided.stored,
        request.len()
    );
    let file = disk.open(&file_name(log.end().segment)).expect("is there");
    let segment = Segment::open(file, log.end().segment).expect("is known").expect("opens");
    for (chunk, at) in divided.chunks.iter().zip(places) {
        let message = segment.message(at.offset).expect("reads").expect("is whole");
        assert_eq!(message.len(), chunk.length());
        let wanted = chunk.message();
        match chunk.kind() {
            ChunkKind::Spans => same(
                &decode::traces(&message).expect("a request").items,
                &decode::traces(&wanted).expect("a request").items,
            ),
            _ => same(
                &decode::logs(&message).expect("a request").items,
                &decode::logs(&wanted).expect("a request").items,
            ),
        }
    }
}
