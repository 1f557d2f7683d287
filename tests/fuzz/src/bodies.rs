//! Requests that cost: much around many small traces, items that hold nothing, deep values, items in turns.

use arbitrary::{Result, Unstructured};

/// How a request is made.
#[derive(Debug, Clone, Copy)]
pub struct Body {
    /// Log records instead of spans.
    pub logs: bool,
    /// Bytes of an attribute of the resource.
    pub around: u16,
    /// Times that; so that some resources are large.
    pub times: u8,
    /// Bytes of the scope's name.
    pub scope: u16,
    /// Bytes of the resource's session.
    pub session: u8,
    /// How many traces there are.
    pub traces: u16,
    /// How many items each has.
    pub each: u8,
    /// Items of one trace follow one another, or come in turns.
    pub in_turns: bool,
    /// So many resources, each with its own copy of what stands around.
    pub resources: u8,
    /// Bytes of an item's text.
    pub text: u8,
    /// How deep a list an item has.
    pub depth: u8,
    /// Items without a byte, before each other one.
    pub empty: u8,
    /// What stands around comes in pieces between the items.
    pub pieces: bool,
    /// Times every count.
    pub scale: u32,
}

impl Body {
    /// The shape that these bytes mean, of at most about 200 KB.
    ///
    /// # Errors
    ///
    /// There are too few bytes.
    pub fn of(u: &mut Unstructured<'_>) -> Result<Self> {
        Ok(Self {
            logs: u.arbitrary()?,
            around: u.int_in_range(0..=4_000)?,
            times: u.int_in_range(0..=15)?,
            scope: u.int_in_range(0..=2_000)?,
            session: u.arbitrary()?,
            traces: u.int_in_range(0..=400)?,
            each: u.int_in_range(0..=3)?,
            in_turns: u.arbitrary()?,
            resources: u.int_in_range(1..=4)?,
            text: u.arbitrary()?,
            depth: u.int_in_range(0..=20)?,
            empty: u.int_in_range(0..=8)?,
            pieces: u.arbitrary()?,
            scale: 1,
        })
    }

    /// The request.
    #[must_use]
    pub fn protobuf(&self) -> Vec<u8> {
        let mut request = Vec::new();
        for resource in 0..self.resources {
            let mut fields = field(1, &self.resource());
            fields.extend(field(2, &self.items(resource)));
            request.extend(field(1, &fields));
        }
        request
    }

    fn resource(&self) -> Vec<u8> {
        let around = usize::from(self.around) * (1 + usize::from(self.times));
        let attributes = [("service.name", 8), ("session.id", usize::from(self.session)), ("around", around)];
        attributes
            .iter()
            .flat_map(|(key, length)| field(1, &pair(key, &text(*length))))
            .collect()
    }

    fn items(&self, resource: u8) -> Vec<u8> {
        let mut scope = field(1, &field(1, &vec![b's'; usize::from(self.scope)]));
        let traces = u32::from(self.traces) * self.scale;
        let each = u32::from(self.each) + 1;
        let order = |at: u32| match self.in_turns {
            true => (at % traces.max(1), at / traces.max(1)),
            false => (at / each, at % each),
        };
        for at in 0..traces * each {
            for _ in 0..self.empty {
                scope.extend([0x12, 0]);
            }
            if self.pieces {
                scope.extend([0x1a, 0]);
            }
            let (trace, item) = order(at);
            scope.extend(field(2, &self.item(trace, item + u32::from(resource) * each)));
        }
        scope
    }

    fn item(&self, trace: u32, item: u32) -> Vec<u8> {
        let trace_id: Vec<u8> = [trace + 1; 4].iter().flat_map(|part| part.to_be_bytes()).collect();
        let span_id: Vec<u8> = [item + 1, trace + 1].iter().flat_map(|part| part.to_be_bytes()).collect();
        let said = text(usize::from(self.text));
        let deep = (0..self.depth).fold(said.clone(), |value, _| field(5, &field(1, &value)));
        let attribute = [field(1, b"said"), field(2, &deep)].concat();
        match self.logs {
            true => [field(9, &trace_id), field(6, &attribute)].concat(),
            false => [field(1, &trace_id), field(2, &span_id), field(5, b"n"), field(9, &attribute)].concat(),
        }
    }
}

/// A length-delimited field.
#[must_use]
pub fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut rest = bytes.len();
    while rest >= 0x80 {
        field.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    field.push(rest as u8);
    field.extend_from_slice(bytes);
    field
}

/// A text value.
#[must_use]
pub fn text(length: usize) -> Vec<u8> {
    field(1, &vec![b'x'; length])
}

/// An attribute.
#[must_use]
pub fn pair(key: &str, value: &[u8]) -> Vec<u8> {
    [field(1, key.as_bytes()), field(2, value)].concat()
}
