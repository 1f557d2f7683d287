// The program, serving an empty directory on ports that the system chooses.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const ANY_PORTS = ['--otlp-grpc', '127.0.0.1:0', '--otlp-http', '127.0.0.1:0', '--http', '127.0.0.1:0'];

export async function serve(program, flags = []) {
  const directory = mkdtempSync(join(tmpdir(), 'spanbridge-browser-'));
  const child = spawn(program, ['serve', '--data-dir', directory, ...ANY_PORTS, ...flags], { stdio: ['ignore', 'inherit', 'pipe'] });
  const log = [], urls = {};
  const stop = () => new Promise((done) => {
    child.once('exit', () => { rmSync(directory, { recursive: true, force: true }); done(); });
    child.kill('SIGTERM');
  });
  await new Promise((ready, failed) => {
    child.once('error', failed);
    child.once('exit', (status) => failed(new Error(`the program ended with ${status}:\n${log.join('\n')}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line);
      const [name, url] = line.trim().split(/\s+/);
      if (['OTLP/gRPC', 'OTLP/HTTP', 'API'].includes(name)) urls[name] = url;
      if (urls.API) ready();
    });
  });
  return { api: urls.API, http: urls['OTLP/HTTP'], pid: child.pid, log, stop };
}

/** Sends a body of OTLP/JSON. */
export async function send(serving, body) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(`${serving.http}/v1/traces`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text });
  if (!answer.ok) throw new Error(`OTLP/HTTP answered ${answer.status}: ${await answer.text()}`);
}

/** Sends the payloads of a case: a file, or the `.traces.json` files of a folder. */
export async function sendCase(serving, place) {
  const files = statSync(place).isFile() ? [place] : readdirSync(place).filter((name) => name.endsWith('.traces.json')).sort().map((name) => join(place, name));
  if (!files.length) throw new Error(`${place} has no payloads`);
  for (const file of files) await send(serving, readFileSync(file, 'utf8'));
}
