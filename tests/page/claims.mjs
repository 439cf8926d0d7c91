// What the status page promises, each shown in a real browser: node claims.mjs CLAIM URL [PID]
import assert from 'node:assert/strict';
import { axe, picture, refreshed, withBrowser, withPage } from './browser.mjs';

const [claim, url, pid] = process.argv.slice(2);
const WIDTHS = [400, 1280];
const SCHEMES = ['light', 'dark'];
// The aim is 200 ms; a busy machine gets room.
const RENDERED = 200;
const ROOM = 10;

const claims = {
  // In light and dark, narrow and wide: nothing to complain of, for the browser, the rules of accessibility, or a thumb.
  async seen(browser) {
    for (const width of WIDTHS) {
      for (const colorScheme of SCHEMES) {
        const options = { viewport: { width, height: 900 }, colorScheme };
        await withPage(browser, url, options, async page => {
          for (const path of ['/', '/?condition=held', '/?q=pay', '/?database=payments', '/?q=nothing+is+like+this']) {
            await page.goto(url + path, { waitUntil: 'networkidle' });
            for (const summary of await page.locator('summary').all()) await summary.click();
            if (path.includes('held')) assert.match(await page.locator('.problem').first().textContent(), /references.*What to do/s);
            assert.deepEqual(await axe(page), [], `${path} at ${width}, ${colorScheme}`);
            assert.equal(await tooWide(page), 0, `${path} at ${width} is wider than the window`);
            const name = path.replace(/\W+/g, '-');
            await picture(page, `page${name}-${width}-${colorScheme}`);
          }
        });
      }
    }
  },

  // A refresh changes what is shown and nothing of what the reader did.
  async refreshed(browser) {
    await withPage(browser, url, { viewport: { width: 800, height: 500 } }, async page => {
      await page.clock.install();
      await page.goto(url, { waitUntil: 'networkidle' });
      await page.locator('#q').fill('half a na');
      const fold = page.locator('details').nth(1);
      await fold.locator('summary').click();
      await fold.locator('summary').focus();
      const place = await page.evaluate(() => {
        document.activeElement.mine = 'yes';
        scrollTo(0, document.activeElement.getBoundingClientRect().top + scrollY - 100);
        return Math.round(scrollY);
      });
      assert.ok(place > 100, `there is nothing to scroll: ${place}`);
      for (let time = 0; time < 2; time += 1) await refreshed(page);
      assert.deepEqual(await page.evaluate(() => [Math.round(scrollY), document.activeElement.mine]), [place, 'yes']);
      assert.equal(await page.locator('#q').inputValue(), 'half a na');
      assert.equal(await page.locator('details[open]').count(), 1);
      assert.ok(await fold.evaluate(fold => fold.open));
    });
  },

  // A refresh that moves a line takes the focus along.
  async moved(browser) {
    await withPage(browser, url, {}, async page => {
      await page.clock.install();
      await page.goto(url, { waitUntil: 'networkidle' });
      const last = page.locator('.overview tbody a').last();
      const name = await last.textContent();
      await last.focus();
      await page.evaluate(() => {
        const row = document.activeElement.closest('tr');
        const focused = document.activeElement;
        row.parentNode.prepend(row);
        focused.focus();
      });
      await refreshed(page);
      assert.equal(await page.locator('.overview tbody a').last().textContent(), name);
      assert.equal(await page.evaluate(() => document.activeElement.textContent), name);
    });
  },

  // From the address bar to the details of a database without a mouse.
  async keyboard(browser) {
    await withPage(browser, url, {}, async page => {
      await page.goto(url, { waitUntil: 'networkidle' });
      await page.keyboard.press('Tab');
      assert.equal(await focus(page), 'Skip to the databases');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      assert.equal(await focus(page), 'Refresh', 'the link skips the filter');
      await page.goto(url, { waitUntil: 'networkidle' });
      for (let key = 0; key < 2; key += 1) await page.keyboard.press('Tab');
      await page.keyboard.type('pay');
      await Promise.all([page.waitForURL(/q=pay/), page.keyboard.press('Enter')]);
      assert.equal(await page.locator('tbody tr').count(), 1);
      await page.locator('nav a').first().focus();
      for (let key = 0; (await focus(page)) !== 'payments'; key += 1) {
        assert.ok(key < 20, 'no way to the database');
        await page.keyboard.press('Tab');
        const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
        assert.equal(outline, 'solid', 'where the focus is can be seen');
      }
      await Promise.all([page.waitForURL(/database=payments/), page.keyboard.press('Enter')]);
      await page.locator('summary').first().focus();
      await page.keyboard.press('Space');
      assert.equal(await page.locator('details[open]').count(), 1);
    });
  },

  // Without its script everything is there, and it says that it reloads itself.
  async scriptless(browser) {
    await withPage(browser, url, { javaScriptEnabled: false }, async page => {
      await page.goto(url, { waitUntil: 'networkidle' });
      assert.equal(await page.locator('meta[http-equiv=refresh]').getAttribute('content'), '30');
      await page.locator('#q').fill('pay');
      await page.locator('button').click();
      assert.equal(await page.locator('tbody tr').count(), 1);
      await page.locator('tbody a').click();
      assert.equal(await page.locator('h2').count(), 1);
      await page.locator('#refresh').click();
      await page.locator('#by-all').click();
      assert.ok((await page.locator('tbody tr').count()) > 3);
    });
  },

  // When the daemon is gone the page says since when it is old.
  async gone(browser) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(url, { waitUntil: 'networkidle' });
    process.kill(Number(pid), 'SIGKILL');
    await page.clock.fastForward(10_000);
    const stale = page.locator('#stale:not(:empty)');
    await stale.waitFor();
    assert.match(await stale.textContent(), /^No answer from keysweep since \d{4}-.*Z: what is shown here is old\.$/);
    assert.ok((await page.locator('h2').count()) > 0, 'what was known is still there');
    assert.deepEqual(await axe(page), []);
    await picture(page, 'gone');
    await context.close();
  },

  // A thousand databases.
  async thousand(browser) {
    await withPage(browser, url, { viewport: { width: 1280, height: 900 } }, async page => {
      const times = [];
      for (let time = 0; time < 5; time += 1) {
        await page.goto(url, { waitUntil: 'load' });
        times.push(await page.evaluate(() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd));
      }
      const [fastest, median] = [times.sort((one, other) => one - other)[0], times[2]].map(Math.round);
      const bytes = await page.evaluate(() => performance.getEntriesByType('navigation')[0].decodedBodySize);
      const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
      console.log(`1,000 databases: ${fastest} ms to DOMContentLoaded, median ${median}; ${bytes} bytes, ${nodes} elements`);
      assert.equal(await page.locator('tbody tr').count(), 1000);
      assert.ok(fastest < RENDERED * ROOM, `${fastest} ms`);
      assert.ok(bytes < 1_000_000 && nodes < 20_000, `${bytes} bytes, ${nodes} elements`);
      await page.locator('#q').fill('tenant-0777');
      await page.locator('#q').press('Enter');
      await page.waitForURL(/q=tenant-0777/);
      assert.equal(await page.locator('tbody tr').count(), 1);
      await picture(page, 'filtered');
    });
  },
};

const focus = page => page.evaluate(() => document.activeElement.textContent);
const tooWide = page => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

await withBrowser(claims[claim]);
