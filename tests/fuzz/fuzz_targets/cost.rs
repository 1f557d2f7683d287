#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| spanbridge_fuzz::cost::run(data));
