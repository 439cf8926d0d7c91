// Debian's Chromium with a watch on everything that it complains of or asks for.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function withBrowser(act) {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
  try {
    await act(browser);
  } finally {
    await browser.close();
  }
}

// A page of its own; at the end nothing may have been wrong with it.
export async function withPage(browser, url, options, act) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const faults = watched(page, new URL(url).origin);
  await act(page);
  assert.deepEqual(faults, []);
  await context.close();
}

function watched(page, origin) {
  const faults = [];
  page.on('console', message => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
  page.on('pageerror', error => faults.push(String(error)));
  page.on('request', request => new URL(request.url()).origin === origin || faults.push(`it asks ${request.url()}`));
  page.on('response', response => response.ok() || faults.push(`${response.status()} ${response.url()}`));
  return faults;
}

// What axe finds, in one line each.
export async function axe(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.flatMap(({ id, help, nodes }) => nodes.map(node => `${id}: ${help}: ${node.html}`));
}

// Lets the page's clock ring its next refresh, and waits until that is shown.
export async function refreshed(page) {
  const before = await page.locator('main time').first().textContent();
  await page.clock.fastForward(10_000);
  await page.waitForFunction(before => document.querySelector('main time').textContent !== before, before);
}

export async function picture(page, name) {
  const folder = process.env.KEYSWEEP_SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}
