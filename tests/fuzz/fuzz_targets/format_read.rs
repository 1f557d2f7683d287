#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| spanbridge_fuzz::format_read::run(data));
