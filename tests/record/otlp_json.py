"""OTLP protobuf bodies as OTLP/JSON, for reading. Standard library only."""
import base64, struct

# field number: (name, kind or message); a list is a repeated field
VALUE = {}
KV = {1: ("key", "string"), 2: ("value", VALUE)}
VALUE |= {1: ("stringValue", "string"), 2: ("boolValue", "bool"), 3: ("intValue", "int64"), 4: ("doubleValue", "double"),
          5: ("arrayValue", {1: ("values", [VALUE])}), 6: ("kvlistValue", {1: ("values", [KV])}), 7: ("bytesValue", "base64")}
SCOPE = {1: ("name", "string"), 2: ("version", "string"), 3: ("attributes", [KV]), 4: ("droppedAttributesCount", "int")}
RESOURCE = {1: ("attributes", [KV]), 2: ("droppedAttributesCount", "int")}
EVENT = {1: ("timeUnixNano", "fixed64"), 2: ("name", "string"), 3: ("attributes", [KV]), 4: ("droppedAttributesCount", "int")}
LINK = {1: ("traceId", "hex"), 2: ("spanId", "hex"), 3: ("traceState", "string"), 4: ("attributes", [KV]), 5: ("droppedAttributesCount", "int"),
        6: ("flags", "fixed32")}
SPAN = {1: ("traceId", "hex"), 2: ("spanId", "hex"), 3: ("traceState", "string"), 4: ("parentSpanId", "hex"), 5: ("name", "string"), 6: ("kind", "int"),
        7: ("startTimeUnixNano", "fixed64"), 8: ("endTimeUnixNano", "fixed64"), 9: ("attributes", [KV]), 10: ("droppedAttributesCount", "int"),
        11: ("events", [EVENT]), 12: ("droppedEventsCount", "int"), 13: ("links", [LINK]), 14: ("droppedLinksCount", "int"), 15: ("status", {2: ("message", "string"), 3: ("code", "int")}),
        16: ("flags", "fixed32")}
RECORD = {1: ("timeUnixNano", "fixed64"), 2: ("severityNumber", "int"), 3: ("severityText", "string"), 5: ("body", VALUE), 6: ("attributes", [KV]),
          7: ("droppedAttributesCount", "int"), 8: ("flags", "fixed32"), 9: ("traceId", "hex"), 10: ("spanId", "hex"), 11: ("observedTimeUnixNano", "fixed64"), 12: ("eventName", "string")}


def request(of, items, item):
    scoped = {1: ("scope", SCOPE), 2: (items, [item]), 3: ("schemaUrl", "string")}
    return {1: ("resource" + of, [{1: ("resource", RESOURCE), 2: ("scope" + of, [scoped]), 3: ("schemaUrl", "string")}])}


REQUESTS = {"traces": request("Spans", "spans", SPAN), "logs": request("Logs", "logRecords", RECORD)}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return value, at


def message(data, fields):
    out, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            raw, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(tag & 7)
            if size is None:
                size, at = varint(data, at)
            raw, at = data[at:at + size], at + size
        name, kind = fields.get(tag >> 3, (None, None))
        if name is None:
            continue
        if isinstance(kind, list):
            out.setdefault(name, []).append(message(raw, kind[0]))
        else:
            out[name] = one(raw, kind)
    return out


def one(raw, kind):
    if isinstance(kind, dict):
        return message(raw, kind)
    if kind == "string":
        return raw.decode()
    if kind == "hex":
        return raw.hex()
    if kind == "fixed64":
        return str(struct.unpack("<Q", raw)[0])
    if kind == "fixed32":
        return struct.unpack("<I", raw)[0]
    if kind == "base64":
        return base64.b64encode(raw).decode()
    if kind == "double":
        return struct.unpack("<d", raw)[0]
    if kind == "bool":
        return bool(raw)
    if kind == "int64":
        return str(raw - (1 << 64) if raw >> 63 else raw)
    return raw


def to_json(signal, body):
    return message(body, REQUESTS[signal])
