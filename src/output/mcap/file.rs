//! The file: MCAP version 0 (<https://mcap.dev/spec>), uncompressed chunks with indexes.
//!
//! ```text
//! magic, Header, a Schema and a Channel for each topic,
//!        a Chunk of messages, a MessageIndex for each of its channels, … and so on
//!        DataEnd
//!        summary: Schemas, Channels, Statistics, a ChunkIndex for each chunk; where each kind begins
//! Footer, magic
//! ```
//!
//! Six kinds of record are written here, by hand: the usual library brings fifteen crates for reading, compressing and deriving.

use std::io::{self, Write};

const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// A chunk is closed once it holds so much: what a pulled plug takes along.
const CHUNK_BYTES: usize = 1 << 18;

const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

/// What a record is.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Kind {
    Header = 0x01,
    Footer = 0x02,
    Schema = 0x03,
    Channel = 0x04,
    Message = 0x05,
    Chunk = 0x06,
    MessageIndex = 0x07,
    ChunkIndex = 0x08,
    Statistics = 0x0b,
    SummaryOffset = 0x0e,
    DataEnd = 0x0f,
}

/// A record's fields, little-endian.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }
    fn u16(mut self, value: u16) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    fn u32(mut self, value: u32) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    fn u64(mut self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    /// Text, bytes, or a list or map that is bytes already: each with its length before it.
    fn bytes(mut self, bytes: &[u8]) -> Self {
        self = self.u32(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
        self
    }
}

/// Appends a record: its kind, its length, what it says.
fn record(to: &mut Vec<u8>, kind: Kind, fields: &Fields) {
    to.push(kind as u8);
    to.extend_from_slice(&(fields.0.len() as u64).to_le_bytes());
    to.extend_from_slice(&fields.0);
}

/// First and last of some times, nanoseconds.
#[derive(Clone, Copy)]
struct Span {
    first: u64,
    last: u64,
}

impl Span {
    const NONE: Self = Self { first: u64::MAX, last: 0 };

    fn with(self, at_ns: u64) -> Self {
        Self { first: self.first.min(at_ns), last: self.last.max(at_ns) }
    }

    /// As records have it: 0 where there is no message.
    fn fields(self, fields: Fields) -> Fields {
        fields.u64(if self.first > self.last { 0 } else { self.first }).u64(self.last)
    }
}

struct Topic {
    /// Its schema and its channel, as records.
    schema: Vec<u8>,
    channel: Vec<u8>,
    messages: u64,
    /// Time and place of each message in the chunk.
    index: Vec<(u64, u64)>,
}

/// A file that is being written.
pub(super) struct File<W> {
    to: W,
    /// Bytes written.
    at: u64,
    topics: Vec<Topic>,
    chunk: Vec<u8>,
    chunk_span: Span,
    span: Span,
    chunk_indexes: Vec<u8>,
    chunks: u32,
}

/// A topic's number: its place in the order in which topics were added.
pub(super) type Channel = u16;

impl<W: Write> File<W> {
    /// Begins a file; `library` is who writes it.
    ///
    /// # Errors
    /// As `to`'s.
    pub fn begin(to: W, library: &str) -> io::Result<Self> {
        let mut file = Self {
            to,
            at: 0,
            topics: Vec::new(),
            chunk: Vec::with_capacity(CHUNK_BYTES + (CHUNK_BYTES >> 2)),
            chunk_span: Span::NONE,
            span: Span::NONE,
            chunk_indexes: Vec::new(),
            chunks: 0,
        };
        let mut head = MAGIC.to_vec();
        record(&mut head, Kind::Header, &Fields::default().bytes(b"").bytes(library.as_bytes()));
        file.put(&head)?;
        Ok(file)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// A topic whose messages are JSON of the schema `name`.
    ///
    /// # Errors
    /// As the file's.
    pub fn add(&mut self, topic: &str, name: &str, json_schema: &str) -> io::Result<Channel> {
        let channel = self.topics.len() as u16;
        // Schema 0 is none.
        let schema_id = channel + 1;
        let schema = Fields::default().u16(schema_id).bytes(name.as_bytes()).bytes(b"jsonschema");
        let mut added = Topic { schema: Vec::new(), channel: Vec::new(), messages: 0, index: Vec::new() };
        record(&mut added.schema, Kind::Schema, &schema.bytes(json_schema.as_bytes()));
        let said = Fields::default().u16(channel).u16(schema_id).bytes(topic.as_bytes());
        record(&mut added.channel, Kind::Channel, &said.bytes(b"json").bytes(b""));
        self.put(&added.schema)?;
        self.put(&added.channel)?;
        self.topics.push(added);
        Ok(channel)
    }

    /// Appends a message.
    ///
    /// # Errors
    /// As the file's.
    pub fn write(&mut self, channel: Channel, sequence: u32, at_ns: u64, data: &[u8]) -> io::Result<()> {
        let topic = &mut self.topics[usize::from(channel)];
        topic.messages += 1;
        topic.index.push((at_ns, self.chunk.len() as u64));
        self.span = self.span.with(at_ns);
        self.chunk_span = self.chunk_span.with(at_ns);
        let head = Fields::default().u16(channel).u32(sequence).u64(at_ns).u64(at_ns);
        self.chunk.push(Kind::Message as u8);
        self.chunk.extend_from_slice(&((head.0.len() + data.len()) as u64).to_le_bytes());
        self.chunk.extend_from_slice(&head.0);
        self.chunk.extend_from_slice(data);
        if self.chunk.len() >= CHUNK_BYTES { self.end_chunk() } else { Ok(()) }
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let (begins, bytes) = (self.at, self.chunk.len() as u64);
        let head = self.chunk_span.fields(Fields::default()).u64(bytes).u32(CRC.checksum(&self.chunk));
        let head = head.bytes(b"").u64(bytes);
        let mut said = vec![Kind::Chunk as u8];
        said.extend_from_slice(&(head.0.len() as u64 + bytes).to_le_bytes());
        said.extend_from_slice(&head.0);
        self.put(&said)?;
        let chunk = std::mem::take(&mut self.chunk);
        self.put(&chunk)?;
        self.chunk = chunk;
        self.chunk.clear();

        let ends = self.at;
        let mut places = Fields::default();
        for channel in 0..self.topics.len() {
            let topic = &mut self.topics[channel];
            if topic.index.is_empty() {
                continue;
            }
            let index =
                topic.index.drain(..).fold(Fields::default(), |all, (at_ns, at)| all.u64(at_ns).u64(at));
            let mut said = Vec::new();
            record(&mut said, Kind::MessageIndex, &Fields::default().u16(channel as u16).bytes(&index.0));
            places = places.u16(channel as u16).u64(self.at);
            self.put(&said)?;
        }
        let index = self.chunk_span.fields(Fields::default()).u64(begins).u64(ends - begins).bytes(&places.0);
        let index = index.u64(self.at - ends).bytes(b"").u64(bytes).u64(bytes);
        record(&mut self.chunk_indexes, Kind::ChunkIndex, &index);
        self.chunk_span = Span::NONE;
        self.chunks += 1;
        Ok(())
    }

    /// Writes what is left, the summary and the end.
    ///
    /// # Errors
    /// As the file's.
    pub fn finish(&mut self) -> io::Result<()> {
        self.end_chunk()?;
        let mut end = Vec::new();
        record(&mut end, Kind::DataEnd, &Fields::default().u32(0));
        self.put(&end)?;

        let topics = &self.topics;
        let counts = topics.iter().enumerate().filter(|(_, topic)| topic.messages > 0);
        let counts = counts.fold(Fields::default(), |all, (i, topic)| all.u16(i as u16).u64(topic.messages));
        let messages = topics.iter().map(|topic| topic.messages).sum();
        let statistics = Fields::default().u64(messages).u16(topics.len() as u16).u32(topics.len() as u32);
        let statistics = self.span.fields(statistics.u32(0).u32(0).u32(self.chunks)).bytes(&counts.0);
        let mut said = Vec::new();
        record(&mut said, Kind::Statistics, &statistics);
        let groups = [
            (Kind::Schema, topics.iter().flat_map(|topic| topic.schema.clone()).collect()),
            (Kind::Channel, topics.iter().flat_map(|topic| topic.channel.clone()).collect()),
            (Kind::Statistics, said),
            (Kind::ChunkIndex, std::mem::take(&mut self.chunk_indexes)),
        ];
        let summary_at = self.at;
        let mut offsets = Vec::new();
        for (kind, records) in groups.iter().filter(|(_, records)| !records.is_empty()) {
            let group = Fields::default().u8(*kind as u8).u64(self.at).u64(records.len() as u64);
            record(&mut offsets, Kind::SummaryOffset, &group);
            self.put(records)?;
        }
        let offsets_at = self.at;
        record(&mut offsets, Kind::Footer, &Fields::default().u64(summary_at).u64(offsets_at).u32(0));
        offsets.extend_from_slice(MAGIC);
        self.put(&offsets)?;
        self.to.flush()
    }

    /// Whether there is something in it for who reads it from its beginning.
    pub fn has_chunk(&self) -> bool {
        self.chunks > 0
    }

    /// What it was written to.
    pub fn into_inner(self) -> W {
        self.to
    }
}
