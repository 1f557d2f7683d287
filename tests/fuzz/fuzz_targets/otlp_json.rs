#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| spanbridge_fuzz::otlp_json::run(data));
