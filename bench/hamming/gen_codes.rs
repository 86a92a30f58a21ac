// Writes random fingerprints to codes.jsonl and queries to queries.jsonl, as `sameish fingerprint --schemes` does. The even queries
// are stored fingerprints with up to 3 flipped bits. With `found`, counts how many of these have a match in the output of
// `sameish hamming query`.
//   ./gen_codes FINGERPRINTS QUERIES SCHEME
//   ./gen_codes found QUERIES < ANSWERS
use std::fs::File;
use std::io::{BufRead, BufWriter, Write};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
        z ^ (z >> 31)
    }
}

fn write(name: &str, codes: &[u64], scheme: &str) {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(name).unwrap());
    for (id, code) in codes.iter().enumerate() {
        writeln!(file, "{{\"id\":{id},\"simhash\":\"{code:016x}\",\"simhash_scheme\":\"{scheme}\"}}").unwrap();
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let queries: usize = args[2].parse().unwrap();
    if args[1] == "found" {
        let lines = std::io::stdin().lock().lines().map(Result::unwrap);
        let found = lines.step_by(2).filter(|line| !line.contains("\"matches\":[]")).count();
        println!("{:.6}", found as f64 / queries.div_ceil(2) as f64);
        return;
    }
    let mut random = Random(20);
    let codes: Vec<u64> = (0..args[1].parse().unwrap()).map(|_| random.next()).collect();
    write("codes.jsonl", &codes, &args[3]);
    let query = |at: usize| match at % 2 {
        0 => {
            let code = codes[(random.next() % codes.len() as u64) as usize];
            (0..3).fold(code, |code, _| code ^ 1 << (random.next() % 64))
        }
        _ => random.next(),
    };
    let queries: Vec<u64> = (0..queries).map(query).collect();
    write("queries.jsonl", &queries, &args[3]);
}
