// A page of the browser that notes what must not happen.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

export async function start() {
  const profile = mkdtempSync(join(tmpdir(), 'spanbridge-chromium-'));
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM, headless: true, protocolTimeout: 180000,
    args: ['--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`],
  });
  return { browser, end: async () => { await browser.close(); rmSync(profile, { recursive: true, force: true }); } };
}

/** Opens a page. `faults` has each complaint of the browser, and each request to elsewhere. */
export async function open(browser, url, { theme = 'light', forced = 'none', motion = 'no-preference', width = 1440, scripts = true, bypass = false, ready } = {}) {
  const page = await browser.newPage(), faults = [], origin = new URL(url).origin;
  // 409: more spans came than the page has, which then loads them.
  page.on('console', (message) => { if (['error', 'warn'].includes(message.type()) && !/status of 409/.test(message.text())) faults.push(message.text()); });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => { if (new URL(request.url()).origin !== origin && !/^(data|blob):/.test(request.url())) faults.push(`a request to ${request.url()}`); });
  page.on('requestfailed', (request) => { if (!request.url().includes('/events')) faults.push(`${request.url()} failed`); });
  if (bypass) await page.setBypassCSP(true);
  await page.setJavaScriptEnabled(scripts);
  const session = await page.createCDPSession();
  await session.send('Emulation.setEmulatedMedia', { features: [
    { name: 'prefers-color-scheme', value: theme }, { name: 'forced-colors', value: forced }, { name: 'prefers-reduced-motion', value: motion }] });
  await page.setViewport({ width, height: 900 });
  await page.evaluateOnNewDocument(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) globalThis.longTasks.push([Math.round(entry.startTime), Math.round(entry.duration)]); }).observe({ type: 'longtask', buffered: true });
    // The rows in sight come with the page: when a frame has the first of them, whatever scripts draw later.
    const rows = new MutationObserver(() => {
      if (!document.querySelector('#rows .r')) return;
      rows.disconnect();
      requestAnimationFrame(() => setTimeout(() => performance.mark('first rows')));
    });
    rows.observe(document, { childList: true, subtree: true });
  });
  await page.goto(url, { waitUntil: 'load' });
  if (ready ?? url.includes('/runs/')) await page.waitForFunction(() => !document.getElementById('rows') || performance.getEntriesByName('usable').length > 0, { timeout: 60000 }).catch(() => faults.push('the outline was not drawn'));
  return { page, session, faults };
}

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));
